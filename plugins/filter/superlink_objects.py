# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn a superlink spec into objects. The work is done by plugin_utils/validate/render.py."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.spec_filter import spec_filter
from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.validate import render
from ansible_collections.federated.flower.plugins.plugin_utils.validate.superlink_faults import superlink_faults


class FilterModule(Filters):
    """Filters of the superlink role."""

    FUNCTIONS = {
        "superlink_faults": spec_filter(superlink_faults),
        "superlink_front_objects": spec_filter(render.superlink_front_objects),
        "superlink_objects": spec_filter(render.superlink_objects),
    }
