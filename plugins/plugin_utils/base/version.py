# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of this collection, as in galaxy.yml: a part of what it writes for people, and of nothing that it renders."""

from __future__ import annotations

VERSION = "1.0.0"
