# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site's trust is changed in its ManifestWork, and nothing else is."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import types

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import through_hub
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_proof import Proof
from ansible_collections.federated.flower.plugins.plugin_utils.sites import ocm
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Restart, Site


@pytest.fixture(scope="module")
def authorities():
    return [certificates.make_ca(name, datetime.timedelta(days=1)).certificate for name in ("old", "new")]


def test_only_the_trust_changes(authorities, parsed_ocm_site, status):
    old, new = authorities
    live = status.taken(status.nodes(parsed_ocm_site(ca_bundle=old)), {})
    live["metadata"].update(uid="1", resourceVersion="2", managedFields=[])
    before = copy.deepcopy(live)
    wanted = through_hub.with_trust(live, old + new)
    assert live == before
    assert (
        set(wanted["metadata"]) == {"name", "namespace", "labels", "annotations", "ownerReferences"}
        and "status" not in wanted
    )
    differ = [
        item["metadata"]["name"]
        for item, was in zip(wanted["spec"]["workload"]["manifests"], live["spec"]["workload"]["manifests"])
        if item != was
    ]
    assert differ == ["supernode-trust"]
    assert wanted["spec"]["manifestConfigs"] == live["spec"]["manifestConfigs"]
    assert through_hub.with_trust(wanted, old + new) is None


def test_the_same_object_as_a_deployment_with_that_trust_makes(authorities, parsed_ocm_site, status):
    """So the next run of site.yml finds nothing to change."""
    old, new = authorities
    live = status.nodes(parsed_ocm_site(ca_bundle=old))
    assert through_hub.with_trust(live, old + new)["spec"] == status.nodes(parsed_ocm_site(ca_bundle=old + new))["spec"]


def test_a_site_without_trust_is_told(authorities, parsed_ocm_site, status):
    live = status.nodes(parsed_ocm_site(insecure=True, mtls=False, ca_bundle=""))
    with pytest.raises(ClusterError, match="has no ConfigMap supernode-trust"):
        through_hub.with_trust(live, authorities[0])


class Hub:
    """A hub of Open Cluster Management that two federations share, with a site of the same name and cluster."""

    def __init__(self, *works):
        self.works = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in works}
        self.applied = []

    def get(self, _version, _kind, name, namespace):
        return self.works.get((namespace, name))


def test_another_federation_may_have_a_site_of_that_name_in_that_cluster(authorities, parsed_ocm_site, status, monkeypatch):
    old, new = authorities
    own, other = (parsed_ocm_site(ca_bundle=old, ocm_addon=name) for name in ("flower-supernode", "study-supernode"))
    hub = Hub(*(status.taken(status.nodes(spec), {}) for spec in (other, own)))

    def apply(hub, objects, check):
        hub.applied += objects
        return types.SimpleNamespace(objects=[])

    monkeypatch.setattr(through_hub, "apply_objects", apply)
    assert through_hub.apply_trust(hub, own, "", 1) == (old, []) and not hub.applied
    told, _objects = through_hub.apply_trust(hub, own, old + new, 1, check=True)
    assert told == old + new and [one["metadata"]["name"] for one in hub.applied] == ["flower-supernode-nodes"]


@pytest.mark.parametrize("change", [{"ocm_addon": "other"}, {"cluster": "site-x"}, {"ocm_cluster": "elsewhere"}])
def test_a_site_to_which_nothing_is_delivered_is_told(authorities, parsed_ocm_site, status, change):
    hub = Hub(status.taken(status.nodes(parsed_ocm_site(ca_bundle=authorities[0])), {}))
    with pytest.raises(ClusterError, match="nothing is delivered to it"):
        through_hub.apply_trust(hub, dataclasses.replace(parsed_ocm_site(), **change), "", 1)


@pytest.fixture
def fleet(parsed_ocm_site, status, monkeypatch):
    """Function: the way to a site with these variables, whose agent does at once what it is told, and its hub."""

    def make(**changes):
        spec = parsed_ocm_site(**changes)

        def reported(work, ready=1):
            return status.taken(work, status.numbers(work, ready))

        hub = Hub(reported(status.nodes(spec)))
        hub.name, hub.reported = "hub", reported

        def apply(hub, objects, check=False):
            hub.applied += objects
            for item in objects:
                hub.works[item["metadata"]["namespace"], item["metadata"]["name"]] = reported(item)
            return types.SimpleNamespace(objects=[])

        monkeypatch.setattr(through_hub, "apply_objects", apply)
        monkeypatch.setattr(through_hub, "apply_objects", apply)
        monkeypatch.setattr(through_hub, "PROPAGATION_SECONDS", 0)
        run = types.SimpleNamespace(check=False, connect=lambda _host: hub, note=lambda *_given, **_facts: None)
        return ocm.Backend(run, Site("site-a", spec, SiteAccess("ocm", "site", "direct"), "hub", seconds=1)), hub

    return make


def proof(way, bundle, **more):
    result = {"changed": False, "trust": None, "accepts": [], "stale": False, "trouble": ""}
    way.trust(Proof("gateway", {"now": "1a", "next": "2b"}, bundle, seconds=1, **more), result)
    return result


def test_pods_with_a_sidecar_need_no_restart(authorities, fleet):
    old, new = authorities
    way, _hub = fleet(ca_bundle=old)
    assert proof(way, old + new)["accepts"] == ["1a", "2b"]


def test_a_bundle_counts_once_pods_that_read_it_at_their_start_were_restarted(authorities, fleet):
    old, new = authorities
    way, hub = fleet(ca_bundle=old, sidecar=False, mtls=False)
    assert proof(way, "")["accepts"] == ["1a", "2b"], "nothing is to be loaded"
    told = proof(way, old + new)
    assert told["stale"] and not told["accepts"] and "still run with the CA bundle of their start" in told["trouble"]
    done, gates = {"changed": False, "restarted": []}, []
    way.restart(Restart(["trust"], "", lambda: gates.append("no run is active"), lambda _pool: None), done)
    assert gates and done["restarted"] == ["supernode-default-3"]
    told = proof(way, old + new)
    assert told["accepts"] == ["1a", "2b"] and not told["stale"] and not told["trouble"]
    hub.works = {place: hub.reported(work, 0) for place, work in hub.works.items()}
    with pytest.raises(ClusterError, match=": StatefulSet supernode-default"):
        proof(way, old + new)


def test_a_bundle_of_the_variables_is_not_replaced(authorities, fleet):
    """The next deployment would bring it back, and with it a site that refuses the gateway."""
    old, new = authorities
    way, hub = fleet(ca_bundle=old)
    with pytest.raises(ClusterError, match="set by supernode_ca_bundle, which lacks a CA of the hub"):
        proof(way, old + new, own_bundle=True)
    way, hub = fleet(ca_bundle=old + new)
    assert proof(way, new, own_bundle=True)["accepts"] == ["1a", "2b"] and not hub.applied
