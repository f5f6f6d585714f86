# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One federation with every way to join: direct, through Skupper, through Open Cluster Management, through an HTTP proxy, and by bundle.

Five sites in the two clusters, each in a namespace of its own. The tests build on each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, api
from ansible_collections.federated.flower.tests.integration.scenarios.administrators import (
    CONTEXT,
    Administrators,
    told_fingerprint,
)
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.identities import entry
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE
from ansible_collections.federated.flower.tests.integration.squid import LOGIN, Squid
from ansible_collections.federated.flower.tests.skupper_standin.turn import turn

DIRECT, SKUPPER, OCM, PROXY, BUNDLE = SITES = ("by-address", "by-skupper", "by-ocm", "by-proxy", "by-bundle")
#: Site -> its cluster and namespace.
PLACES = {
    DIRECT: ("site-a", f"{NAMESPACE}-far"),
    SKUPPER: ("site-b", NAMESPACE),
    OCM: ("site-a", NAMESPACE),  # the add-on creates it there in any case
    PROXY: ("site-b", f"{NAMESPACE}-by"),
    BUNDLE: (CONTEXT, f"{NAMESPACE}-c"),
}
FEDERATION = f"{NAMESPACE}-deliveries"
USER, PASSWORD = "site-behind-a-proxy", "password-of-the-proxy-of-a-site"
GATEWAY = 9092  # the load balancer's port
NODE_CONFIG = {"partition-id": "{partition}", "site": "{cluster}"}
ROUNDS = 2
# What Kubernetes makes in every namespace, and what it notes there.
KUBERNETES = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
KINDS = {
    "v1": ("ConfigMap", "Secret", "Service", "ServiceAccount", "Pod", "PersistentVolumeClaim"),
    "apps/v1": ("StatefulSet", "Deployment", "DaemonSet"),
    "batch/v1": ("Job",),
    "networking.k8s.io/v1": ("NetworkPolicy",),
    "rbac.authorization.k8s.io/v1": ("Role", "RoleBinding"),
}


class Fleet:
    """The federation, its administrators at the site with bundles, and what later tests compare with."""

    def __init__(self, fed: Any, folder: Path, squid: Squid) -> None:
        self.fed, self.squid = fed, squid
        self.folder = folder
        self.administrators = Administrators(fed, folder, BUNDLE, PLACES[BUNDLE][1])
        self.fingerprint = ""  # of the hub's key that signs bundles
        self.common = {"flower_federation": FEDERATION}

    def hosts(self) -> dict[str, dict[str, Any]]:
        """The hub and five sites. Neither the one behind Open Cluster Management nor the one with bundles has an access of its own."""
        hub = {"flower_context": "hub", "superlink_exposure": "load_balancer", "superlink_storage_size": "256Mi"}
        sites: dict[str, dict[str, Any]] = {}
        for site, (context, namespace) in PLACES.items():
            pool = {"name": "cpu", "replicas": 1, "node_config": NODE_CONFIG}
            sites[site] = {"flower_context": context, "supernode_namespace": namespace, "supernode_pools": [pool]}
        sites[SKUPPER]["flower_connectivity"] = "skupper"
        sites[PROXY]["supernode_http_proxy"] = {"address": self.squid.address(LOGIN)}
        sites[PROXY]["supernode_http_proxy_credentials"] = {"username": USER, "password": PASSWORD}
        nowhere = {"flower_kubeconfig": str(self.folder / "there-is-none")}
        sites[OCM] |= {"flower_delivery": "ocm", "supernode_ocm_cluster": PLACES[OCM][0], **nowhere}
        sites[BUNDLE] |= {"flower_delivery": "bundle", "flower_bundle_directory": str(self.folder / "bundles"), **nowhere}
        for site in (OCM, BUNDLE):
            del sites[site]["flower_context"]
        return {"hub": hub, **sites}

    def play(self, playbook: str, *arguments: str, rc: int = 0) -> Any:
        """Run a playbook for the whole fleet."""
        return self.fed.play(playbook, *arguments, hosts=self.hosts(), rc=rc, **self.common)

    def lives(self) -> dict[str, dict[str, tuple[str, int]]]:
        """Site -> its pods, which are equal before and after when nothing was touched."""
        return {site: self.fed.lives(context, namespace) for site, (context, namespace) in PLACES.items()}

    def nodes(self) -> dict[str, list[str]]:
        """Site -> its node ids."""
        return {site: list(self.fed.keys(site).values()) for site in SITES}

    def refusal(self, identity: dict[str, str]) -> str | None:
        """The alert with which the gateway ends a connection with a certificate; None if it accepts it."""
        alert: str | None = self.fed.call([{}], identity, where=("hub", "serverapp-0", "superexec"))[0]["alert"]
        return alert

    def left(self) -> list[str]:
        """What is left in the namespaces of the federation, in all clusters."""
        found = []
        for context in self.fed.contexts:
            for space in self.fed.spaces(context):
                for version, kinds in KINDS.items():
                    names = [(kind, one["metadata"]["name"]) for kind in kinds for one in self.fed.cluster(context).list(version, kind, space)]
                    found += [f"{context}: {kind} {space}/{name}" for kind, name in names if (kind, name) not in KUBERNETES]
        return found


@pytest.fixture(scope="module")
def fleet(
    federation: Any, ocm_turn: None, fleet_addon: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Clusters with Open Cluster Management, Skupper's API and a proxy, and nothing of the federation yet."""
    fed, folder = federation, tmp_path_factory.mktemp("deliveries")
    (folder / "bundles").mkdir()
    hub = urlsplit(entry(yaml.safe_load(fed.kubeconfig.read_text()), "hub")["server"]).hostname
    labels = {"metadata": {"labels": {addon_objects.FEDERATION_LABEL: FEDERATION}}}
    with turn(fed.kubeconfig):
        fed.clear()
        fed.settled = False
        try:
            fleet_addon("skupper", "up", "--resync", "5")
            fleet_addon("ocm", "up")
            fed.hub.patch(api.CLUSTERS, "ManagedCluster", PLACES[OCM][0], None, labels)
            squid = Squid(hub, GATEWAY, (USER, PASSWORD), 60, {})
            with squid:
                yield Fleet(fed, folder, squid)
        finally:
            fleet_addon("ocm", "down")
            fleet_addon("skupper", "down")
            fed.clear()


def test_deploy(fleet):
    """All but the site with bundles are online after the first run; for that one it says what its administrators have to do."""
    run = fleet.play("site")
    assert "4 SuperNodes of 5 sites are online" in run.messages(), run.messages("hub")
    assert "federated.flower.join" in run.warnings()


def test_a_site_joins_by_bundle(fleet):
    """Its administrators verify and apply the bundle, and send the public keys."""
    fed = fleet.fed
    fleet.fingerprint = told_fingerprint(fed)
    fleet.administrators.apply(fleet.fingerprint)
    path, fingerprint = fleet.administrators.reply("reply.json")
    fleet.play("join", "-e", json.dumps({"flower_bundle_reply": str(path), "flower_bundle_fingerprint": fingerprint}))
    fleet.administrators.apply(fleet.fingerprint)
    nodes = fleet.nodes()
    assert {site: len(found) for site, found in nodes.items()} == dict.fromkeys(SITES, 1)
    fed.wait_online(*(node for found in nodes.values() for node in found), seconds=240)


def test_each_site_connects_as_its_inventory_says(fleet):
    """Through a Service of Skupper, a tunnel to the proxy, or to the hub's address."""
    fed = fleet.fed
    address = fed.door()
    assert address["port"] == GATEWAY
    for site, (context, namespace) in PLACES.items():
        config = fed.cluster(context).get("v1", "ConfigMap", "supernode-sidecar", namespace)["data"]["haproxy.cfg"]
        assert ("flower-superlink." in config) == (site == SKUPPER), (site, config)
        assert (f"{address['host']}:{GATEWAY}" in config) == (site not in (SKUPPER, PROXY)), (site, config)


def test_a_run_trains_at_every_site(fleet):
    fed, lives = fleet.fed, fleet.lives()
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": ROUNDS, "min-nodes": len(SITES)}}
    run = fleet.play("run", "-e", json.dumps(given))
    rounds = re.findall(r"round \d+: [^\n\"]*?\((\d+) nodes, \d+ examples; ([^)]*)\)", run.messages())
    assert rounds and set(rounds) == {(str(len(SITES)), ", ".join(f"{site} 1" for site in sorted(SITES)))}, run.messages()
    assert set(fed.app_runs().values()) == {"finished:completed"}
    assert fleet.lives() == lives
    address = fed.door()
    passed = [line for line in fleet.squid.log() if line[3] == "TCP_TUNNEL/200"]
    assert {(line[6], line[7]) for line in passed} == {(f"{address['host']}:{GATEWAY}", USER)}, passed


def test_a_second_run_changes_nothing(fleet):
    lives, table = fleet.lives(), fleet.play("status").table
    for site in SITES:
        assert any(line.startswith(site) and line.endswith("ok") for line in table), (site, table)
    again = fleet.play("site")
    assert set(again.changed.values()) == {0}, again.details()
    assert "5 SuperNodes of 5 sites are online" in again.messages(), again.messages("hub")
    assert fleet.lives() == lives


def test_sites_that_left_cannot_come_back(fleet):
    """With what it kept, none comes back: not its certificate at the gateway, and not its key at the SuperLink."""
    fed, nodes = fleet.fed, fleet.nodes()
    leaving = [site for site in SITES if site != DIRECT]
    kept = {site: fed.identity(*PLACES[site]) for site in SITES}
    assert all(fleet.refusal(identity) is None for identity in kept.values()), "it cannot be refused later if it is refused now"
    fleet.play("teardown", "--limit", ",".join(leaving), "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    revoked = {site: None if site == DIRECT else "SSLV3_ALERT_CERTIFICATE_REVOKED" for site in SITES}
    # The kubelet brings the list of revoked certificates to the gateway.
    fed.wait("the refusal of all who left", lambda: {site: fleet.refusal(one) for site, one in kept.items()} == revoked, 240, pause=2)
    status = fed.nodes()
    assert {site for site, (node,) in nodes.items() if status[node] == "unregistered"} == set(leaving)
    folder = fleet.folder / "left"
    folder.mkdir()
    fleet.play("leaving_statement", "-e", f"flower_site={BUNDLE}", "-e", f"flower_statement_directory={folder}")
    (path,) = folder.iterdir()
    record = path.read_text()
    assert "revoked fingerprint " in record and "retired fingerprint " in record, record
    assert "matches" in fleet.play("leaving_statement", "-e", f"flower_statement_file={path}").messages("hub")


def test_teardown_leaves_nothing(fleet):
    """The administrators of the site with bundles delete what the last list names."""
    fed = fleet.fed
    fleet.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    assert fleet.administrators.verify(fleet.fingerprint)[0] == 0
    fleet.administrators.uninstall()
    fed.wait("nothing", lambda: not fleet.left(), 180)
    spaces = {site: PLACES[site] for site in SITES if site != OCM}  # Open Cluster Management leaves the namespace
    fed.wait("the end of the namespaces", lambda: all(fed.gone(*place) for place in spaces.values()), 180)
    assert fed.gone("hub", NAMESPACE, CA_NAMESPACE)
    for version, kind in ((api.WORKS, "ManifestWork"), (api.ADDONS, "ManagedClusterAddOn"), (api.ADDONS, "AddOnTemplate")):
        assert fed.hub.list(version, kind) == []
    assert not fed.shown(fleet.folder, fed.logs), fed.shown(fleet.folder, fed.logs)
