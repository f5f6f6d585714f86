# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """State of an object, and how long to wait for it."""

    DOCUMENTATION = r"""
options:
  state:
    description:
      - Whether the object should exist.
    type: str
    choices:
      - present
      - absent
    default: present
  wait_timeout:
    description:
      - Seconds to wait for each object.
    type: int
    default: 300
"""

    WAIT = r"""
options:
  wait:
    description:
      - Whether to wait until it is ready. The error states what is missing.
    type: bool
    default: true
"""
