# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of the program that creates keys at a site: C(maker.py) and all that it imports, unchanged.

So the site and the controller follow the same rules because they run the same code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT.name
MAIN = "site_keys/maker.py"
# What the pod starts, in the folder of PACKAGE.
MODULE = f"{PACKAGE}.{MAIN.removesuffix('.py').replace('/', '.')}"
# from ..folder.module import name as other, … in one line or in parentheses, at any depth.
_RELATIVE = re.compile(r"^[ \t]*from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_NAME = re.compile(r"(?:^|[(,])\s*(\w+)")


@cache
def files() -> dict[str, str]:
    """Path below the program's folder -> text."""
    found: dict[str, str] = {}
    waiting = [ROOT / MAIN]
    while waiting:
        path = waiting.pop()
        name = f"{PACKAGE}/{path.relative_to(ROOT).as_posix()}"
        if name not in found:
            found[name] = path.read_text(encoding="utf-8")
            waiting += imported(path, found[name])
    return dict(sorted(found.items()))


def imported(path: Path, text: str) -> Iterator[Path]:
    """The files of this collection that a file imports, by relative imports: others would not work in the pod.

    Sites are worked on in threads, and C(ast.parse) fails at random in several at once (Python 3.11, SystemError "AST
    constructor recursion depth mismatch"), so the statements are read as text.
    """
    for dots, module, names in _RELATIVE.findall(text):
        folder = path.parents[len(dots) - 1].joinpath(*module.split(".") if module else ())
        if folder.with_suffix(".py").is_file():
            yield folder.with_suffix(".py")
        else:
            yield from (folder / f"{name}.py" for name in _NAME.findall(names))
