# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SuperNodes of others in the namespace of a site are not asked, annotated or restarted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests.supernode import TRUST
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_proof import Proof
from ansible_collections.federated.flower.plugins.plugin_utils.sites import (
    direct,
    direct_certificates,
    direct_connection,
)
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site
from ansible_collections.federated.flower.tests.unit.shared_namespace import FEDERATION, SharedNamespace, pod

OWN, APP, THEIRS = pod("supernode-cpu-0"), pod("clientapp-cpu-0", "clientapp"), pod("helm-0", ours=False)


@pytest.fixture
def site(parsed_site) -> Site:
    return Site("site-a", parsed_site(federation=FEDERATION, namespace="shared"), access_of({}))


def test_which_pods_are_looked_at_for_outdated_files(monkeypatch, site):
    asked = []
    monkeypatch.setattr(direct_certificates.outdated_pods, "is_outdated", lambda _cluster, one, *_more: asked.append(one) or True)
    cluster = SharedNamespace(OWN, APP, THEIRS, objects={("ConfigMap", TRUST): {"data": {"ca.crt": "new"}}})
    found = direct_certificates.old(cluster, site, ["trust"], lambda _name: {})
    assert asked == [OWN, APP] and found == {"cpu": [OWN, APP]}


def test_which_pods_prove_their_trust_and_get_the_new_files(monkeypatch, site):
    answer = {"seen": {"now": {"serial": "7"}}, "run_site_program": {}}
    asked = []
    monkeypatch.setattr(direct_certificates.outdated_pods, "run_site_program", lambda _cluster, one, *_more: asked.append(one) or answer)
    monkeypatch.setattr(direct_certificates, "apply_trust", lambda *_args: [])
    cluster = SharedNamespace(OWN, THEIRS, objects={("ConfigMap", TRUST): {"data": {"ca.crt": "old"}}})
    result: dict[str, Any] = {"pods": [], "trust": None}
    wanted = Proof("hub", {"now": "7"}, bundle="new", expected=[{"pool": "cpu", "name": "0"}], seconds=0)
    direct_certificates.prove(SimpleNamespace(check=False, note=lambda *_args, **_facts: None), cluster, site, wanted, result)
    assert asked == [OWN] and cluster.touched == ["supernode-cpu-0"]
    assert (result["accepts"], result["trouble"], result["stale"]) == (["7"], "", False)


def test_which_pods_measure_the_way(monkeypatch, site):
    """Also not one that has the label of a pool, such as a copy for debugging."""
    copy = pod("copy", ours=False)
    copy["metadata"]["labels"]["federated.flower/pool"] = "default"
    monkeypatch.setattr(direct_connection, "ask_apps", lambda *_args: pytest.fail("it was asked"))
    found = direct_connection.measure(SharedNamespace(copy), site.spec, "hub:9092", "hub")
    assert "none of its SuperNodes runs" in found["default"]["error"]


def test_which_pods_a_site_has(site):
    way = direct.Backend(SimpleNamespace(check=False), site)
    way.cluster = SharedNamespace(OWN, THEIRS)
    assert way.pods() == [OWN]
    assert "helm-0" not in way.pod_summary()
