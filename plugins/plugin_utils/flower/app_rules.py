# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An app's own rules about its files: C(.gitignore), and C(fab-include) and C(fab-exclude) in its C(pyproject.toml) (flwr 1.41, C(flwr.cli.build)).

Flower applies C(.gitignore) first, and refuses patterns of the others that match no file. What else of a C(pyproject.toml) it would refuse is
left out here, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tomllib

try:
    import pathspec
except ImportError:  # then nothing is left out here, and Flower leaves it out where it packs the app
    pathspec = None  # type: ignore[assignment]

KEYS = ("fab-include", "fab-exclude")
_HEADER = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]")
_CONNECTIONS = "tool.flwr.federations"


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

    def _matches(self, path: str) -> bool:
        return next((leaves_out for leaves_out, matches in reversed(self._rules) if matches(path)), False)

    def file(self, path: str) -> bool:
        """Whether a file is left out, by its path in the app."""
        return self._matches(path)

    def folder(self, path: str) -> bool:
        """Whether all of a folder is left out; with exceptions each file is asked for."""
        return not self._has_exceptions and self._matches(f"{path}/")


def patterns(project: Mapping[str, Any]) -> list[str]:
    """The patterns of C(fab-include) and C(fab-exclude) of a C(pyproject.toml)."""
    table: Any = project
    for name in ("tool", "flwr", "app"):
        table = table.get(name) if isinstance(table, Mapping) else None
    found = [(table or {}).get(key) for key in KEYS] if isinstance(table, Mapping) else []
    return [str(one) for listed in found if isinstance(listed, list) for one in listed]


def named(folders: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Those of some folders of the root that a pattern can mean."""
    starts = {pattern.lstrip("!/").partition("/")[0] for pattern in listed}
    return [folder for folder in folders if folder in starts]


def without_patterns(content: bytes) -> bytes:
    """A C(pyproject.toml) without C(fab-include) and C(fab-exclude), for an app that was packed by them already.

    The rest of it stays as it is written. If the keys cannot be taken out of it, it is returned as it was.
    """
    text = content.decode("utf-8")
    for key in KEYS:
        text = _without(text, key)
    return text.encode()


def without_connections(content: bytes) -> bytes:
    """A C(pyproject.toml) without C([tool.flwr.federations]), where apps made for Flower before 1.26 have connections.

    Flower leaves them out of what it packs, but first it moves them to its own configuration, which is read-only in the SuperLink's pod: it
    would refuse the app.

    Raises:
        ValueError: they cannot be taken out of it.
    """
    text = content.decode("utf-8")
    wanted = tomllib.loads(text)
    if wanted["tool"]["flwr"].pop("federations", None) is None:
        return content
    kept, is_kept = [], True
    for line in text.splitlines(keepends=True):
        if header := _HEADER.match(line):
            is_kept = not f"{header[1]}.".startswith(f"{_CONNECTIONS}.")
        if is_kept:
            kept.append(line)
    rest = "".join(kept)
    try:
        is_whole = tomllib.loads(rest) == wanted
    except tomllib.TOMLDecodeError:
        is_whole = False
    if not is_whole:
        raise ValueError(f"remove [{_CONNECTIONS}] from it: Flower has not read connections there since 1.26")
    return rest.encode()


def _without(text: str, key: str) -> str:
    """Remove the lines that set a key of C([tool.flwr.app]), and nothing else."""
    wanted = tomllib.loads(text)
    try:
        del wanted["tool"]["flwr"]["app"][key]
    except KeyError:
        return text
    lines = text.splitlines(keepends=True)
    for first, line in enumerate(lines):
        if not line.lstrip().startswith((key, f'"{key}"')):
            continue
        for last in range(first + 1, len(lines) + 1):
            rest = "".join([*lines[:first], *lines[last:]])
            try:
                if tomllib.loads(rest) == wanted:
                    return rest
            except tomllib.TOMLDecodeError:
                continue
    return text
