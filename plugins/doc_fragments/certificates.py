# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """The option of modules that read or write the CA keys."""

    CA = r"""
options:
  ca_namespace:
    description: Namespace of the CA keys.
    type: str
    required: true
"""
