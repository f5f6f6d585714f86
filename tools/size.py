# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""How large the collection is, and on how much code each action stands: C(python tools/size.py).

An action stands on all modules of this collection that it reaches by import statements, wherever they are in a file; whole files count. Imports
for type checkers (C(if TYPE_CHECKING:)) do not run and do not count. The delivery of a site is loaded by its name (C(sites/registry.py)) and
does not count either: it depends on the inventory.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_COLLECTION = "ansible_collections.federated.flower."


def lines(paths: Iterable[Path]) -> int:
    """Lines of text files."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def imported(root: Path, path: Path) -> Iterator[Path]:
    """The files of the collection in C(root) that one of them imports."""
    package = path.relative_to(root).parts[:-1]
    waiting: list[ast.AST] = [ast.parse(path.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found = [(name.name, "") for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            above = package[: len(package) - node.level + 1]
            found = [(_COLLECTION + ".".join((*above, *filter(None, [node.module]))), name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [(node.module or "", name.name) for name in node.names]
        else:
            continue
        for module, name in found:
            if module.startswith(_COLLECTION):
                base = root.joinpath(*module.removeprefix(_COLLECTION).split("."))
                candidates = (base / f"{name}.py", base / name / "__init__.py", base.with_suffix(".py"), base / "__init__.py")
                yield from [one for one in candidates if one.is_file()][:1]


class Closures:
    """What files of a collection stand on.

    Args:
        root: folder of the collection.
    """

    def __init__(self, root: Path) -> None:
        self.imports = cache(lambda path: frozenset(imported(root, path)))

    def of(self, path: Path) -> set[Path]:
        """A file and all that it reaches."""
        found: set[Path] = set()
        waiting = {path}
        while waiting:
            found |= waiting
            waiting = {one for path in waiting for one in self.imports(path)} - found
        return found


def files(root: Path, *folders: str) -> list[Path]:
    """All files of some folders but compiled ones."""
    return [
        path for folder in folders for path in (root / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"
    ]


def main(root: Path = ROOT) -> None:
    """Print two tables."""
    plugins, packages = files(root, "plugins"), root / "plugins/plugin_utils"
    for text, number in (
        ("lines of plugins", lines(plugins)),
        ("bytes of plugins", sum(path.stat().st_size for path in plugins)),
        ("lines of tests/unit", lines(files(root, "tests/unit"))),
        ("lines of roles and playbooks", lines(files(root, "roles", "playbooks"))),
        ("modules", len(list((root / "plugins/modules").glob("*.py")))),
        ("filters", len(list((root / "plugins/filter").glob("*.yml")))),
        ("playbooks", len(list((root / "playbooks").glob("*.yml")))),
        ("packages", len({path.parent for path in packages.glob("*/*.py")})),
    ):
        print(f"{number:9,}  {text}")
    print("\n    lines files  what an action stands on")
    closures = Closures(root)
    found = {path.stem: closures.of(path) for path in (root / "plugins/action").glob("*.py")}
    for size, name in sorted((lines(reached), name) for name, reached in found.items()):
        print(f"{size:9,} {len(found[name]):5}  {name}")


if __name__ == "__main__":
    main()
