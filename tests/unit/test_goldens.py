# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Golden files and schemas that are stored as differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.unit import goldens
from ansible_collections.federated.flower.tests.unit.read import differences, merged


def document(kind: str, name: str, *lines: str) -> str:
    return f"---\nkind: {kind}\nmetadata:\n  name: {name}\n" + "".join(f"{line}\n" for line in lines)


PEM = ("pem: |", "  -----BEGIN CERTIFICATE-----", "  ---", "  -----END CERTIFICATE-----")
LONG = [f"a{number}: {number}" for number in range(20)]
BASE = goldens.HEAD + document("A", "one", *LONG) + document("B", "two", *PEM) + document("C", "three", "- list", "+ x")
VARIANTS = {
    "the same": BASE,
    "changed": BASE.replace("a7: 7\n", "a7: 8\na7b: 9\n").replace("a19: 19\n", ""),
    "other name": BASE.replace("name: one", "name: four"),
    "other order": goldens.HEAD + document("B", "two", *PEM) + document("A", "one", *LONG),
    "new object": BASE + document("D", "five", "- list", "= x") + document("D", "six", "- list"),
    "twice": BASE + document("B", "two", "x: 1"),
    "removed lines at both ends": BASE.replace("kind: C\n", "").replace("+ x\n", ""),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(goldens, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_comes_back_byte_by_byte(name: str) -> None:
    goldens.write("some-default", BASE)
    goldens.write("some-variant", VARIANTS[name])
    assert goldens.path_of("some-variant").read_text().startswith(f"{goldens.HEAD}# base: some-default\n")
    assert goldens.read("some-variant") == VARIANTS[name]


def test_a_base_changes_and_its_variants_do_not() -> None:
    goldens.write("some-default", BASE)
    goldens.write("some-variant", VARIANTS["changed"])
    goldens.write("some-variant-more", VARIANTS["twice"])
    assert goldens.path_of("some-variant-more").read_text().startswith(f"{goldens.HEAD}# base: some-variant\n")
    goldens.write("some-default", VARIANTS["removed lines at both ends"])
    assert goldens.read("some-default") == VARIANTS["removed lines at both ends"]
    assert goldens.read("some-variant") == VARIANTS["changed"]
    assert goldens.read("some-variant-more") == VARIANTS["twice"]


def test_differences_that_do_not_fit_their_base_are_an_error(folder: Path) -> None:
    goldens.write("some-default", BASE)
    goldens.write("some-variant", VARIANTS["changed"])
    (folder / "some-default.golden").write_text(BASE.replace("a7: 7", "a7: 70"))
    with pytest.raises(AssertionError, match="is not a7: 7"):
        goldens.read("some-variant")


@pytest.mark.parametrize("new", [{}, {"a": 1}, {"a": {"b": [1]}, "c": {}}, {"a": {"b": [2], "d": {"e": 1}}}])
def test_merge_patches(new: dict) -> None:
    old = {"a": {"b": [1, 2], "c": 1}, "z": 0}
    assert merged(old, differences(old, new)) == new
