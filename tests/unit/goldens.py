# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Golden files: the whole text of a variant, or what differs from a base.

A file whose second line is C(# base: NAME) lists the variant's objects in order, one line each:

    # = Kind name            as in the base; with "… Kind2 name2" also those that follow there, up to this one
    # ~ Kind name            the hunks that follow change the object of the base
    # ~ Kind name < Kind2 name2    they change this one of the base, or, where there is none, of this file
    # + Kind name            the text of the object follows
    # - Kind name            is in the base alone

A hunk is C(@@ LINE -COUNT) and lines with +, which take the place of COUNT lines, from this line (from 1) of the object that it changes.
C(python goldens.py NAME) prints the whole text.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
HEAD = "# SPDX-License-Identifier: Apache-2.0\n"
_BASE = "# base: "
# Bases that do not follow from the name: "superlink-rich" differs from "superlink-default", "a-b-c" from "a-b".
_OTHER = {
    "ocm-site": "ocm-addon-default",
    "rights-superlink-clientapps": "rights-superlink-ocm",
    "rights-supernode-default": "rights-superlink-default",
    "skupper-site": "skupper-hub",
    "superlink-outputs-claim": "superlink-subprocess",
    "superlink-tracking-subprocess": "superlink-subprocess",
    "supernode-datasets": "supernode-datasets-workload",
    "supernode-datasets-workload": "supernode-clientapp",
    "supernode-insecure": "supernode-no-sidecar",
    "supernode-own-pods": "supernode-pools",
    "supernode-pools": "supernode-gpus",
    "supernode-rich": "supernode-pools",
    "supernode-subprocess": "supernode-gpus",
}

Parts = dict[str, list[str]]


def path_of(name: str) -> Path:
    """Where a golden file is."""
    return FOLDER / f"{name}.golden"


def names() -> list[str]:
    """Names of all golden files."""
    return sorted(path.stem for path in FOLDER.glob("*.golden"))


def read(name: str) -> str:
    """The whole text of a variant."""
    text = _stored(name)
    base, rest = _split(text)
    return HEAD + _patched(_parts(read(base)), rest) if base else text


def _stored(name: str) -> str:
    return path_of(name).read_text(encoding="utf-8")


def write(name: str, text: str) -> None:
    """Store a variant's text: as differences where it has a base and that is shorter. Variants of a base stay as they were."""
    texts = {name: text} | {one: read(one) for one in _variants(name)}
    for one, whole in texts.items():
        _store(one, whole)
        if checkout := os.environ.get("FLOWER_CHECKOUT"):  # the gates run on a copy
            shutil.copy(path_of(one), Path(checkout, "tests", "unit", "golden"))
    assert read(name) == text


def _variants(name: str) -> Iterator[str]:
    """What is stored as differences from this one, and from those, each after its base."""
    for one in names():
        if _split(_stored(one))[0] == name:
            yield one
            yield from _variants(one)


def _store(name: str, text: str) -> None:
    base = _base_of(name)
    short = f"{HEAD}{_BASE}{base}\n" + "".join(_differences(_parts(read(base)), _parts(text))) if base else text
    if short.count("\n") >= text.count("\n"):
        short = text
    path_of(name).write_text(short, encoding="utf-8")


def _base_of(name: str) -> str | None:
    words = name.split("-")
    before = ["-".join(words[:count]) for count in range(len(words) - 1, 0, -1)]
    likely = [_OTHER.get(name, ""), *(one + end for one in before for end in ("-default", ""))]
    return next((one for one in likely if one and one != name and path_of(one).exists()), None)


def _split(text: str) -> tuple[str | None, str]:
    """Name of the base, and what follows."""
    first, _line, rest = text.removeprefix(HEAD).partition("\n")
    return (first.removeprefix(_BASE), rest) if first.startswith(_BASE) else (None, text)


def _parts(text: str) -> Parts:
    """ "Kind name" -> lines of the object, in order."""
    found: Parts = {}
    for part in re.split(r"^---\n", text, flags=re.M)[1:]:
        kind, name = (re.search(rule, part, re.M) for rule in (r"^kind: (.+)", r"^  name: (.+)"))
        key = f"{kind[1] if kind else '?'} {name[1] if name else '?'}"
        while key in found:
            key += "'"
        found[key] = part.splitlines(keepends=True)
    return found


def _differences(base: Parts, parts: Parts) -> Iterator[str]:
    known, order, same = dict(base), list(base), list[str]()
    for key, lines in parts.items():
        if same and (base.get(key) != lines or order.index(key) != order.index(same[-1]) + 1):
            yield _range(same)
            same = []
        if base.get(key) == lines:
            same.append(key)
            continue
        alike = [key] if key in base else list(known)
        hunks = min(
            ((list(_hunks(known[one], lines)), one) for one in alike), key=lambda two: len(two[0]), default=None
        )
        if hunks and len(hunks[0]) < len(lines):
            yield f"# ~ {key}{'' if hunks[1] == key else ' < ' + hunks[1]}\n"
            yield from hunks[0]
        else:
            yield f"# + {key}\n"
            yield from lines
        known.setdefault(key, lines)
    if same:
        yield _range(same)
    yield from (f"# - {key}\n" for key in base if key not in parts)


def _range(keys: list[str]) -> str:
    return f"# = {' … '.join(dict.fromkeys([keys[0], keys[-1]]))}\n"


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for kind, start, end, from_, to in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield f"@@ {start + 1} -{end - start}\n"
            yield from ("+" + line for line in new[from_:to])


def _patched(base: Parts, text: str) -> str:
    parts: Parts = {}
    for sign, key, content in re.findall(r"^# ([=~+]) (.+)\n((?:(?!# ).*\n)*)", text, re.M):
        lines = content.splitlines(keepends=True)
        if sign == "=":
            order, (first, _dots, last) = list(base), key.partition(" … ")
            parts |= {one: base[one] for one in order[order.index(first) : order.index(last or first) + 1]}
            continue
        if sign == "~":
            key, _sign, other = key.partition(" < ")
            other = other or key
            lines = _applied((base if other in base else parts)[other], content)
        parts[key] = lines
    return "".join("---\n" + "".join(lines) for lines in parts.values())


def _applied(old: list[str], hunks: str) -> list[str]:
    new, at = [], 0
    for line, count, body in re.findall(r"^@@ (\d+) -(\d+)\n((?:\+.*\n)*)", hunks, re.M):
        start = int(line) - 1
        new += old[at:start] + [added[1:] for added in body.splitlines(keepends=True)]
        at = start + int(count)
    return new + old[at:]


if __name__ == "__main__":
    print(read(sys.argv[1]), end="")
