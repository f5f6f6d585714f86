# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much code an action stands on. A bound is lowered when an action needs less, and never raised."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from ansible_collections.federated.flower.tests.unit.read import ROOT

# Lines of all files that an action reaches by imports.
BOUND = 20_000
APPLY = 10_000
#: Actions that still stand on more. C(superlink), C(supernode) and C(rotation) are all steps of hub and sites: checks, keys, objects, rights. All
#: actions have the lease of the fleet, and with it what tells which hub serves.
ABOVE = {
    "rotation": 27_700,
    "run_schedule": 20_350,
    "superlink": 28_950,
    "superlink_standby": 21_400,
    "supernode": 26_900,
    "takeover": 20_850,
}


@pytest.fixture(scope="module")
def size() -> ModuleType:
    spec = importlib.util.spec_from_file_location("size", ROOT / "tools/size.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_action_stands_on_the_whole_product(size: ModuleType) -> None:
    closures = size.Closures(ROOT)
    found = {path.stem: size.lines(closures.of(path)) for path in (ROOT / "plugins/action").glob("*.py")}
    found["cluster_action"] = size.lines(closures.of(ROOT / "plugins/plugin_utils/actions/cluster_action.py"))
    bounds = {**ABOVE, "apply": APPLY, "cluster_action": APPLY}
    assert {name: lines for name, lines in found.items() if lines > bounds.get(name, BOUND)} == {}
    assert {name: found[name] for name, bound in ABOVE.items() if found[name] <= BOUND} == {}, "its own bound is not needed any more"


def test_what_counts_as_an_import(size: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "plugin_utils" / "a"
    folder.mkdir(parents=True)
    (folder / "first.py").write_text(
        "from typing import TYPE_CHECKING\nfrom . import second\nfrom .second import x\nimport json\n"
        "if TYPE_CHECKING:\n    from . import never\n\n\ndef f():\n    from ..b.third import y\n    return y\n"
    )
    (folder / "second.py").write_text("from ansible_collections.federated.flower.plugins.plugin_utils.a import package\n")
    (folder / "never.py").write_text("")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("from ..second import x\n")
    (tmp_path / "plugins/plugin_utils/b").mkdir()
    (tmp_path / "plugins/plugin_utils/b/third.py").write_text("1\n2\n")
    found = size.Closures(tmp_path).of(folder / "first.py")
    assert {path.relative_to(folder.parent).as_posix() for path in found} == {
        "a/first.py",
        "a/second.py",
        "a/package/__init__.py",
        "b/third.py",
    }
    assert size.lines(found) == 15
