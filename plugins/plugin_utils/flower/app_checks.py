# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Flower would make of the files of an app: its C(.gitignore), its C(pyproject.toml), and its code, which is read and never executed.

Sources: C(flwr.cli.build) (flwr 1.41), C(flwr.supercore.object_ref) (flwr 1.42).
"""

from __future__ import annotations

import ast
import contextlib
import platform
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import tomllib

with contextlib.suppress(ImportError):  # ansible-core needs it; only the documentation is read without it
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

try:
    import pathspec
except ImportError:  # then nothing is left out here, and Flower leaves it out where it packs the app
    pathspec = None  # type: ignore[assignment]


class Ignored:
    """What a C(.gitignore) leaves out. Only the one in the app's own folder counts, as for Flower.

    Args:
        content: of the file; empty without one.

    Raises:
        ValueError: a line is not a pattern; Flower refuses it as well.
    """

    def __init__(self, content: bytes) -> None:
        try:
            lines = [line.strip() for line in content.decode("utf-8").splitlines()]
        except UnicodeDecodeError:  # Flower takes it for an empty one
            lines = []
        patterns = [line for line in lines if line and not line.startswith("#")]
        self._has_exceptions = any(pattern.startswith("!") for pattern in patterns)
        # One after the other: for Flower, unlike for git, the last one that matches decides, also inside of a folder that is left out.
        self._rules: list[tuple[bool, Callable[[str], bool]]] = [
            (not pattern.startswith("!"), pathspec.GitIgnoreSpec.from_lines([pattern.removeprefix("!")]).match_file)
            for pattern in (patterns if pathspec is not None else [])
        ]

    def file(self, path: str) -> bool:
        """Whether a file is left out, by its path in the app."""
        return next((leaves_out for leaves_out, matches in reversed(self._rules) if matches(path)), False)

    def folder(self, path: str) -> bool:
        """Whether all of a folder is left out; with exceptions each file is asked for."""
        return not self._has_exceptions and self.file(f"{path}/")


def value_of(table: Any, *names: str) -> Any:
    """A value in nested tables; None without one."""
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table


def without_key(text: str, *path: str) -> str:
    """A TOML document without one of its keys or tables. The rest of it stays as it is written.

    Raises:
        ValueError: it is not TOML, or the key cannot be cut out of it.
    """
    wanted = tomllib.loads(text)
    *tables, key = path
    if value_of(wanted, *path) is None:
        return text
    del value_of(wanted, *tables)[key]
    lines = text.splitlines(keepends=True)
    for first in (number for number, line in enumerate(lines) if key in line):
        for last in range(first + 1, len(lines) + 1):
            rest = "".join([*lines[:first], *lines[last:]])
            with contextlib.suppress(tomllib.TOMLDecodeError):
                if tomllib.loads(rest) == wanted:
                    return rest
    raise ValueError(f"{'.'.join(path)} cannot be cut out")


def check_code(files: Mapping[str, bytes], project: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Why Flower would refuse an app with these files and this C(pyproject.toml), and what its users should know.

    The control node's Python may be older than that of the images, and knows less of the language.
    """
    components = project["tool"]["flwr"]["app"]["components"]
    faults, notes, modules = [], [], set()
    for name in ("serverapp", "clientapp"):
        module, _colon, attribute = components[name].partition(":")
        place = module.replace(".", "/")
        top = place.partition("/")[0]
        found = next((path for path in (f"{place}/__init__.py", f"{place}.py") if path in files), "")
        if not module or not attribute:
            faults.append(f"{name} = {components[name]!r} is not MODULE:ATTRIBUTE")
        elif found:
            modules.add(found)
            tree, fault = _parsed(found, files[found])
            if tree and not _assigns(tree, attribute.partition(".")[0]):
                fault = f"{found} has no line '{attribute.partition('.')[0]} = …', which {name} names"
            faults += [fault] if fault else []
        elif any(path.startswith((f"{top}.py", f"{top}/")) for path in files):
            faults.append(f"{name} names the module {module}, and {place}.py is not among the app's files")
        else:
            notes.append(f"{name} names the module {module}, which is not among the app's files: a package of the SuperLink's image has to have it")
    others = [_parsed(path, content)[1] for path, content in files.items() if path.endswith(".py") and path not in modules]
    notes += [f"Python cannot read a file of the app: {fault}" for fault in others if fault]
    try:
        wanted = SpecifierSet(str(project["project"].get("requires-python", "")))
        reads_all = wanted.contains(platform.python_version(), prereleases=True)
    except InvalidSpecifier:
        reads_all = True
    return (list(dict.fromkeys(faults)), notes) if reads_all else ([], [*faults, *notes])


def _parsed(path: str, content: bytes) -> tuple[ast.Module | None, str]:
    """The syntax tree of a file, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python about the app's code
            tree = ast.parse(content, path)
            compile(tree, path, "exec", dont_inherit=True)  # finds more, such as a return outside of a function
    except SyntaxError as error:
        line = "" if error.lineno is None else f", line {error.lineno}"
        return None, f"{path}{line}: {error.msg} (Python {platform.python_version()})"
    except ValueError as error:
        return None, f"{path}: {error}"
    except (RecursionError, MemoryError):
        return None, f"{path}: it is nested too deeply"
    return tree, ""


def _assigns(tree: ast.Module, name: str) -> bool:
    """Whether Flower finds a name: it is assigned to anywhere, or C(__all__) lists it."""
    assigned = [(target.id, node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)]
    lists = [value.elts for key, value in assigned if key == "__all__" and isinstance(value, (ast.List, ast.Tuple))]
    return name in {key for key, _value in assigned} | {one.value for listed in lists for one in listed if isinstance(one, ast.Constant)}
