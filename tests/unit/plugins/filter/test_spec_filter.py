# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of filters."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import spec_filter


def test_a_wrong_spec_is_an_error_of_the_filter():
    def objects(spec):
        return spec["namespace"]

    with pytest.raises(AnsibleFilterError, match="objects: the spec is incomplete: KeyError"):
        spec_filter(objects)({"install": "Manual"})
