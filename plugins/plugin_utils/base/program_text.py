# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that run in pods and at sites: the files of the folder C(programs), which are sent as they are."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "programs"


def program_text(name: str) -> str:
    """The text of a program. C(name): of its file."""
    return (_FOLDER / name).read_text(encoding="utf-8")
