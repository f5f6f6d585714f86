# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory hosts in messages."""

from __future__ import annotations


def named(host: str, message: str) -> str:
    """A message that starts with the name of an inventory host."""
    return message if message.startswith(f"{host}: ") else f"{host}: {message}"
