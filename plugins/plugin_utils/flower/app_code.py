# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python code of an app, read and never executed: whether Flower would find its components (flwr 1.42, C(flwr.supercore.object_ref)).

The control node's Python may be older than that of the images, and knows less of the language.
"""

from __future__ import annotations

import ast
import contextlib
import platform
import warnings
from collections.abc import Mapping
from typing import Any

with contextlib.suppress(ImportError):  # ansible-core needs it; only the documentation is read without it
    from packaging.specifiers import InvalidSpecifier, SpecifierSet


def check(files: Mapping[str, bytes], project: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Why Flower would refuse an app with these files and this C(pyproject.toml), and what its users should know."""
    components = project["tool"]["flwr"]["app"]["components"]
    faults, notes, modules = [], [], set()
    for name in ("serverapp", "clientapp"):
        module, _colon, attribute = components[name].partition(":")
        place = module.replace(".", "/")
        found = next((path for path in (f"{place}/__init__.py", f"{place}.py") if path in files), "")
        if not module or not attribute:
            faults.append(f"{name} = {components[name]!r} is not MODULE:ATTRIBUTE")
        elif found:
            modules.add(found)
            tree, fault = _parsed(found, files[found])
            if tree and not _assigns(tree, attribute.partition(".")[0]):
                fault = f"{found} has no line '{attribute.partition('.')[0]} = …', which {name} names"
            faults += [fault] if fault else []
        elif any(path.startswith((f"{place.partition('/')[0]}.py", f"{place.partition('/')[0]}/")) for path in files):
            faults.append(f"{name} names the module {module}, and {place}.py is not among the app's files")
        else:
            notes.append(f"{name} names the module {module}, which is not among the app's files: a package of the SuperLink's image has to have it")
    others = [_parsed(path, content)[1] for path, content in files.items() if path.endswith(".py") and path not in modules]
    notes += [f"Python cannot read a file of the app: {fault}" for fault in others if fault]
    reads_all = _fits_this_python(str(project["project"].get("requires-python", "")))
    return (list(dict.fromkeys(faults)), notes) if reads_all else ([], [*faults, *notes])


def _fits_this_python(wanted: str) -> bool:
    """Whether the control node's Python is in a range of versions (C(requires-python)); so it is where the range is none."""
    try:
        return SpecifierSet(wanted).contains(platform.python_version(), prereleases=True)
    except InvalidSpecifier:
        return True


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
