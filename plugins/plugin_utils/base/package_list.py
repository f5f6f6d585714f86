# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list of packages of an image, as C(package_program.py) packs it. Pure.

Lists come from containers of other people's clusters: they are bounded, and their shape is checked.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

from .foreign_data import read_json

#: Characters of a packed list: a thousand packages have twenty thousand.
PACKED = 64 * 1024
_LIMIT = 2 * 1024 * 1024  # bytes of an unpacked list: a thousand packages have a hundred thousand


@dataclass(frozen=True)
class PackageList:
    """Packages of an image.

    Attributes:
        packages: normalized name -> version.
        environment: what markers of requirements refer to.
        extras: name -> extra -> its requirements; empty where they are not known.
    """

    packages: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    extras: dict[str, dict[str, list[str]]] = field(default_factory=dict)


def unpack(text: str) -> PackageList:
    """Read a packed list.

    Raises:
        ValueError: it is none; with the reason.
    """
    if len(text) > PACKED:
        raise ValueError(f"it has {len(text)} characters, which is more than {PACKED}")
    try:
        unzip = zlib.decompressobj()
        plain = unzip.decompress(base64.b64decode(text, validate=True), _LIMIT)
        if unzip.unconsumed_tail or not unzip.eof:
            raise ValueError("it is not complete, or too long")
        found = read_json(plain)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if isinstance(found, dict) and "packages" not in found and _texts(found.get("environment")):
        raise ValueError("it has more packages than a pod's status can hold")
    extras = found.get("extras", {}) if isinstance(found, dict) else None
    if not (
        isinstance(found, dict)
        and _texts(found.get("packages"))
        and _texts(found.get("environment"))
        and isinstance(extras, dict)
        and all(isinstance(named, dict) and all(map(_is_list, named.values())) for named in extras.values())
    ):
        raise ValueError("it is not a list of packages")
    return PackageList(found["packages"], found["environment"], extras)


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
