# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site in the namespace of the hub does not have a Pod Security level of its own."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.preflight import shared_namespace

LIVE = {"metadata": {"name": "flower", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}


@pytest.mark.parametrize(
    ("level", "planned", "said"),
    [("privileged", "restricted", 'sets its level ("restricted")'), ("privileged", None, 'sets its level ("restricted")'), ("", "baseline", '("baseline")'),
     ("privileged", "privileged", ""), ("restricted", None, "")],
)  # fmt: skip
def test_another_level_than_that_of_the_hub_is_a_fault(parsed_site, level, planned, said):
    spec = parsed_site(pod_security=level)
    assert shared_namespace.wants_level(spec)
    found = shared_namespace.fault(spec, LIVE, planned)
    assert said in found and bool(found) == bool(said)
    assert not found or "Set superlink_pod_security" in found


def test_where_the_collection_chooses_there_is_nothing_to_compare(parsed_site):
    assert not shared_namespace.wants_level(parsed_site(pod_security="auto"))
    assert not shared_namespace.wants_level(parsed_site(pod_security="privileged", create_namespace=False))
