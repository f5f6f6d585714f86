# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of packages: made in a container, packed, and read again."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import zlib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import package_list
from ansible_collections.federated.flower.plugins.plugin_utils.programs import package_program

PROGRAM = Path(str(package_program.__file__))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a container does."""
    command = [sys.executable, "-c", PROGRAM.read_text(encoding="utf-8"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_lists_what_can_be_imported() -> None:
    done = run()
    found = package_list.unpack(done.stdout.strip())
    assert found.packages["packaging"] == metadata.version("packaging")
    assert found.environment["python_full_version"] == sys.version.split()[0]
    assert found.environment["sys_platform"] == sys.platform
    assert "platform_release" not in found.environment
    assert "dev" not in found.packages and all("extra" in one for one in found.extras["jinja2"]["i18n"])


def test_a_report_fits_into_the_status_of_a_pod(tmp_path: Path) -> None:
    where = tmp_path / "termination-log"
    done = run(str(where), "4096")
    assert (done.returncode, done.stdout) == (0, "")
    assert package_list.unpack(where.read_text()).packages["packaging"]
    assert where.stat().st_size <= 4096


def test_a_pod_starts_without_its_report(tmp_path: Path) -> None:
    done = run(str(tmp_path / "no" / "folder"), "4096")
    assert done.returncode == 0 and "not reported" in done.stdout


def test_what_does_not_fit_loses_extras_first_and_then_is_not_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {f"p{number}": os.urandom(8).hex() for number in range(40)}
    extras = {"p1": {"x": [os.urandom(8).hex() for _number in range(400)]}}
    whole = {"environment": {"os_name": "posix"}, "packages": few, "extras": extras}
    monkeypatch.setattr(package_program, "collect", lambda: dict(whole))
    found = package_list.unpack(package_program.packed(4096))
    assert (found.packages, found.extras) == (few, {})
    assert package_list.unpack(package_program.packed()).extras == extras
    whole["packages"] = {f"p{number}": os.urandom(8).hex() for number in range(2000)}
    with pytest.raises(ValueError, match="more packages than a pod's status can hold"):
        package_list.unpack(package_program.packed(4096))


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {"packages": {}},
        {"packages": {"a": 1}, "environment": {}},
        {"packages": {}, "environment": {}, "extras": {"a": []}},
        {"packages": {}, "environment": {}, "extras": {"a": {"b": [1]}}},
        {"packages": [], "environment": {}},
    ],
)
def test_other_shapes_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="not a list of packages"):
        package_list.unpack(package_program.pack(wrong))


@pytest.mark.parametrize("wrong", ["", "no", "###", "eJyr", "YWJj"])
def test_damaged_lists_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        package_list.unpack(wrong)


def test_a_list_that_unpacks_to_far_more_is_refused() -> None:
    bomb = package_program.pack({"packages": {"a": "0" * 10_000_000}, "environment": {}})
    assert len(bomb) < 20_000
    with pytest.raises(ValueError, match="too long"):
        package_list.unpack(bomb)


def test_a_list_that_is_packed_badly_is_refused() -> None:
    plain = b'{"packages":{"a":"' + b"0" * 1_000_000 + b'"},"environment":{}}'
    with pytest.raises(ValueError, match="which is more than 65536"):
        package_list.unpack(base64.b64encode(zlib.compress(plain, 0)).decode())


def test_a_list_in_lists_without_end_is_refused() -> None:
    text = base64.b64encode(zlib.compress(b"[" * 1_000_000)).decode()
    with pytest.raises(ValueError, match="recursion"):
        package_list.unpack(text)


def test_neither_kubernetes_nor_templates_change_the_program() -> None:
    text = PROGRAM.read_text(encoding="utf-8")
    assert not any(mark in text for mark in ("$(", "{{", "}}", "$$"))
