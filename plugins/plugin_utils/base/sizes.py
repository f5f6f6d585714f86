# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bytes and numbers for people. Pure."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def readable(size: float) -> str:
    """Bytes for people, like C(1.5 GiB)."""
    number = float(size)
    for unit in _UNITS[:-1]:
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} {_UNITS[-1]}"


def counted(number: int, thing: str) -> str:
    """A number of things, like C(1 file) and C(2 files)."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
