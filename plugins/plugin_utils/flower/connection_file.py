# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One connection in the configuration of a user's Flower CLI (C(config.toml)). Pure.

Text is edited and not written again, so comments and other connections stay as they are. What the edit means is compared with what was
wanted, as TOML, before it is returned. A comment could not mark which connection is whose: some commands of Flower write the file again
without comments (flwr 1.42, C(flwr.cli.flower_config.write_flower_config)).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tomllib

_SECTION = "superlink"
_DEFAULT = "default"
#: Form of a name: what TOML takes without quotes.
NAME = re.compile("[A-Za-z0-9_-]{1,64}")


def problem_of_name(name: str) -> str:
    """Why a connection cannot have this name; empty if it can."""
    if not NAME.fullmatch(name):
        return "a name has 1 to 64 letters (A-Z), digits, _ and -"
    return "it is the key of the default connection" if name == _DEFAULT else ""


def connection(text: str, name: str) -> dict[str, Any] | None:
    """A connection, or None.

    Raises:
        ValueError: the text is not TOML, or has no table of connections where it should be.
    """
    section = tomllib.loads(text).get(_SECTION, {})
    found = section.get(name) if isinstance(section, dict) else section
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"{_SECTION}.{name} is not a table" if isinstance(section, dict) else f"{_SECTION} is not a table")
    return found


def is_default(text: str, name: str) -> bool:
    """Whether Flower uses this connection where a command names none."""
    return bool(tomllib.loads(text).get(_SECTION, {}).get(_DEFAULT) == name)


def with_connection(text: str, name: str, values: Mapping[str, str]) -> str:
    """The text with these values of a connection; other keys that it has stay. In a new file, it is the default one.

    Raises:
        ValueError: see C(connection); or it cannot be edited without changing something else.
    """
    present = connection(text, name)
    wanted = tomllib.loads(text)
    wanted.setdefault(_SECTION, {})[name] = {**(present or {}), **values}
    lines = text.split("\n")
    if present is None:
        if not text.strip():
            lines = [*_new_file(name), *lines]
            wanted[_SECTION][_DEFAULT] = name
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", f"[{_SECTION}.{name}]", *map(_line, values, values.values()), ""]
    else:
        begin, end = _block(lines, name)
        for key, value in values.items():
            if present.get(key) != value:
                at = next((number for number in range(begin + 1, end) if re.match(rf"\s*{key}\s*=", lines[number])), end)
                lines[at : at + (at < end)] = [_line(key, value)]
                end += at == end
    return _compared(lines, wanted)


def without_connection(text: str, name: str) -> str:
    """The text without a connection that it has; empty if C(with_connection) made the file for it and nothing else is in it.

    Raises:
        ValueError: see C(with_connection).
    """
    wanted = tomllib.loads(text)
    del wanted[_SECTION][name]
    if not wanted[_SECTION]:
        del wanted[_SECTION]
    lines = text.split("\n")
    begin, end = _block(lines, name)
    if begin and not lines[begin - 1].strip():
        begin -= 1
    del lines[begin:end]
    left = _compared(lines, wanted)
    return "" if left.split() == "\n".join(_new_file(name)).split() else left


def _new_file(name: str) -> list[str]:
    return [f"[{_SECTION}]", _line(_DEFAULT, name)]


def _line(key: str, value: str) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _block(lines: Sequence[str], name: str) -> tuple[int, int]:
    """Where the table of a connection begins, and where it ends: before comments of what follows."""
    header = re.compile(rf"\s*\[\s*(['\"]?){_SECTION}\1\s*\.\s*(['\"]?){re.escape(name)}\2\s*\]\s*(#.*)?")
    begin = next((number for number, line in enumerate(lines) if header.fullmatch(line)), None)
    if begin is None:
        raise ValueError(f"it has no line [{_SECTION}.{name}]")
    end = next((number for number in range(begin + 1, len(lines)) if lines[number].lstrip().startswith("[")), len(lines))
    while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return begin, end


def _compared(lines: Sequence[str], wanted: Mapping[str, Any]) -> str:
    text = "\n".join(lines)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the connection does not fit into its present form ({error})") from error
    if found.get(_SECTION) == {}:
        del found[_SECTION]
    if found != wanted:
        raise ValueError("the connection cannot be edited without changing something else")
    return text
