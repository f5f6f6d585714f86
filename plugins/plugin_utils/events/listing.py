# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads an inventory with C(ansible-inventory), in a process of its own: its plugins wait for clusters, and events must not wait with them."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

_SECONDS = 120
_SAID = 400
# A source that cannot be read is an error: without it all of its sites would seem to have left.
_STRICT = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "ANSIBLE_INVENTORY_UNPARSED_FAILED": "true"}


class ListingError(Exception):
    """The inventory could not be read. The text names it, and says what C(ansible-inventory) said last."""


async def list_inventory(path: str) -> dict[str, Any]:
    """The output of C(ansible-inventory --list).

    Args:
        path: file or folder of the inventory.

    Raises:
        ListingError: it cannot be read, or not within two minutes.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            "ansible-inventory",
            "-i",
            path,
            "--list",
            env={**os.environ, **_STRICT},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise ListingError(f"inventory {path}: ansible-inventory cannot be started: {error}") from error
    try:
        output, said = await asyncio.wait_for(process.communicate(), _SECONDS)
    except asyncio.TimeoutError as error:
        raise ListingError(f"inventory {path}: not read within {_SECONDS} s") from error
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        raise ListingError(f"inventory {path}: {said.decode('utf-8', 'replace').strip()[-_SAID:]}")
    found: dict[str, Any] = json.loads(output)
    return found
