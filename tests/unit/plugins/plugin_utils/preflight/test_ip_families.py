# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster without IPv4 is refused before anything is changed there."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import ip_families, rehearsal
from ansible_collections.federated.flower.tests.unit.specs import drafted


class Trying:
    """A cluster in which nothing is deployed; its API server adds address families to Services, also in a dry run."""

    name = "site-a"

    def __init__(self, families: list[str]) -> None:
        self.families = families

    def get(self, _api: str, _kind: str, _name: str, _namespace: str) -> None:
        """There is nothing."""

    def apply(self, item: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        """The object as it would be."""
        assert dry_run
        more = {"ipFamilies": self.families} if item["kind"] == "Service" and self.families else {}
        return {**item, "spec": {**item.get("spec", {}), **more}}


@pytest.mark.parametrize("families", [["IPv4"], ["IPv4", "IPv6"], ["IPv6", "IPv4"], []])
def test_with_ipv4_or_unknown_families_there_is_no_fault(parsed_site, families):
    assert ip_families.family_fault(families) == ""
    assert rehearsal.rehearse(Trying(families), drafted(parsed_site()), set(), "supernode")


@pytest.mark.parametrize("part", ["parsed_hub", "parsed_site"])
def test_a_cluster_with_ipv6_only_is_refused_once_and_by_name(request, part):
    with pytest.raises(ClusterError) as refused:
        rehearsal.rehearse(Trying(["IPv6"]), drafted(request.getfixturevalue(part)()), set(), "supernode")
    (fault,) = refused.value.message.splitlines()
    assert fault.startswith("site-a: the cluster gives Services only addresses of IPv6, ") and "dual stack" in fault
