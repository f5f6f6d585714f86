# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.preflight import devices
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec


def node(name, **allocatable):
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "2", **allocatable}}}


def test_a_gpu_that_no_node_has_is_told_with_what_the_nodes_have():
    spec = SiteSpec.parse({"pools": [{"name": "a100", "gpu": {"count": 2}}]})
    (warning,) = devices.warnings(spec, [node("one", **{"nvidia.com/gpu": "1"}), node("two")])
    for part in ("pool a100", "2 x nvidia.com/gpu", "one has nvidia.com/gpu 1", "two has no extended resources"):
        assert part in warning
    assert devices.warnings(spec, [node("one", **{"nvidia.com/gpu": "2"})]) == []
    assert devices.warnings(SiteSpec.parse({"pools": [{"name": "cpu"}]}), []) == []
