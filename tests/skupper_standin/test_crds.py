# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The stand-in's definitions have the shape of Skupper's. The originals are not part of this project: set
SKUPPER_CRDS to a folder with the files of a Skupper 2.2.1 release (``config/crd/bases`` of its source).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from skupper_standin import crds

FOLDER = os.environ.get("SKUPPER_CRDS", "")


def schema(definition: dict[str, Any]) -> dict[str, Any]:
    """The schema of a definition's only version."""
    (version,) = definition["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def shape(node: Any) -> Any:
    """A schema without words: no descriptions, messages of rules, order of lists without order."""
    if isinstance(node, dict):
        return {
            # "description" and "message" are words of a schema, unless they are fields with a schema of their own
            key: sorted(value) if key == "required" else shape(value)
            for key, value in node.items()
            if not (key in ("description", "message") and isinstance(value, str))
        }
    return sorted(map(shape, node), key=repr) if isinstance(node, list) else node


def outline(definition: dict[str, Any]) -> dict[str, Any]:
    """All of a definition that matters to who reads and writes its objects."""
    spec = definition["spec"]
    (version,) = spec["versions"]
    plain = shape(schema(definition))
    for known in ("apiVersion", "kind", "metadata"):  # every object has them, said or not
        plain["properties"].pop(known, None)
    return {
        "name": definition["metadata"]["name"],
        "group": spec["group"],
        "scope": spec["scope"],
        "names": {key: value for key, value in spec["names"].items() if key != "listKind"},
        "version": (version["name"], version["served"], version["storage"], version["subresources"]),
        "schema": plain,
    }


def originals() -> dict[str, dict[str, Any]]:
    """Skupper's own definitions by kind, if SKUPPER_CRDS names their folder."""
    if not FOLDER:
        pytest.skip("SKUPPER_CRDS is not set: Skupper's own CRDs are not here to compare with")
    import yaml

    found = [one for path in sorted(Path(FOLDER).glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]
    by_kind = {one["spec"]["names"]["kind"]: one for one in found if one}
    assert by_kind, f"SKUPPER_CRDS={FOLDER} has no definitions"
    return by_kind


MINE = {one["spec"]["names"]["kind"]: one for one in crds.definitions()}


def test_the_kinds_are_skuppers() -> None:
    assert set(MINE) == set(originals())


@pytest.mark.parametrize("kind", sorted(MINE))
def test_a_kind_has_skuppers_shape(kind: str) -> None:
    assert outline(MINE[kind]) == outline(originals()[kind])


def test_there_are_no_defaults() -> None:
    def keys(node: Any) -> set[str]:
        if isinstance(node, dict):
            return set(node) | {key for value in node.values() for key in keys(value)}
        return {key for value in node for key in keys(value)} if isinstance(node, list) else set()

    assert not {"default"} & {key for one in MINE.values() for key in keys(schema(one))}
