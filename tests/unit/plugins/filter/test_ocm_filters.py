# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is reached through Open Cluster Management, and what it is called there."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.federated.flower.plugins.filter.inventory import FilterModule
from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import spec_filter

FILTERS = FilterModule().filters()
HOSTVARS = {
    "a": {"flower_delivery": "ocm"},
    "b": {"flower_delivery": "ocm", "ocm_name": "cluster-b"},
    "c": {"flower_delivery": "ocm", "ocm_name": "cluster-c", "supernode_ocm_cluster": "other"},
    "d": {"flower_delivery": "direct", "ocm_name": "cluster-d"},
    "e": {},
}


def test_sites_say_so_themselves():
    assert FILTERS["sites_with"](HOSTVARS, ["c", "a", "d", "e", "unknown"], delivery="ocm") == ["c", "a"]
    assert FILTERS["sites_with"]({}, ["a"], delivery="ocm") == []


def test_sites_with_client_apps_of_their_own_say_so_too():
    hosts = {**HOSTVARS, "a": {**HOSTVARS["a"], "flower_clientapp": "workload"}, "d": {"flower_clientapp": "workload"}}
    assert FILTERS["sites_with"](hosts, list(hosts), delivery="ocm", clientapp="workload") == ["a"]
    assert FILTERS["sites_with"]({}, ["a"], clientapp="workload") == []


def test_a_wrong_spec_is_an_error_of_the_filter():
    def objects(spec):
        return spec["namespace"]

    with pytest.raises(AnsibleFilterError, match="objects: the spec is incomplete: KeyError"):
        spec_filter(objects)({"install": "Manual"})
