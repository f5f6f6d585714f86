# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guide on ownership lists every kind of object and every name that the renderers and the tables of rights know, and no others."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import volume_pod
from ansible_collections.federated.flower.plugins.plugin_utils.base.kinds import plural_of
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import keys_secret
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import CA_SECRETS, SUPERLINK, SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.role_objects import rights_objects
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import common_objects as namespaces
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import (
    network_policies,
    site_jobs,
    skupper,
    superlink,
    supernode,
)
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners, proof
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import acm_policies
from ansible_collections.federated.flower.plugins.plugin_utils.rights.table import CONTROLLER, TABLE
from ansible_collections.federated.flower.plugins.plugin_utils.sites import namespace_inspection
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_trail as audit
from ansible_collections.federated.flower.tests.unit.specs import CA

PAGE = Path(__file__).parents[5] / "docs" / "docsite" / "rst" / "guide_ownership.rst"
Names = set[tuple[str, str]]

HUB = [
    {},
    {"exposure": "node_port"},
    {"exposure": "route", "host": "hub.example.com"},
    {"exposure": "ingress", "host": "hub.example.com"},
    *({"exposure": exposure, "host": "hub.example.com"} for exposure in ("traefik", "contour")),
    {"exposure": "gateway_api", "host": "hub.example.com", "gateway": {"name": "public"}},
    {"certificates_source": "cert_manager", "issuer": {"name": "x"}},
    {"protect_runs": True},
    {"protect_runs": True, "isolation": "subprocess"},
    {"outputs_enabled": False},
    {"tracking": {"uri": "https://mlflow.example.com", "ca": CA}},
    {"outputs_s3": {"endpoint": "https://s3.example.com", "bucket": "models", "secret": "key", "ca": CA}},
    {"metrics": {"enabled": True, "image": "x", "monitor": True, "acm": True}},
]
POOLS = [{"name": "one", "replicas": 2, "node_config": {}}]
SITE = [
    {"pools": POOLS},
    {"pools": POOLS, "clientapp": "workload"},
    {"pools": [{"name": "one", "mode": "DaemonSet", "node_config": {}}]},
    {"pools": POOLS, "datasets": [{"name": "ct", "volume": {"nfs": {"server": "nfs", "path": "/ct"}}}]},
    {"pools": POOLS, "http_proxy": {"address": "proxy.example.com:3128"}, "http_proxy_credentials": ["username", "password"]},
]
SETTINGS = {
    "controller": {"kind": "ServiceAccount", "name": "flower-controller"},
    "scientists": [{"kind": "Group", "name": "flower-scientists"}],
    "scientist_ways": ["exec", "portforward"],
    "auditors": [{"kind": "Group", "name": "flower-auditors"}],
    "ca_namespace": "flower-ca",
}


def table(title: str) -> list[list[list[str]]]:
    """The literals in each cell of each row of a csv-table."""
    text = PAGE.read_text(encoding="utf-8")
    (body,) = re.findall(rf"\.\. csv-table:: {title}\n   :header: .*\n\n((?:   .*\n)+)", text)
    return [[re.findall(r"``([^`]+)``", cell) for cell in row] for row in csv.reader(io.StringIO(body), skipinitialspace=True)]


def listed(title: str) -> Names:
    """(Kind, name) of all rows."""
    return {(kind, name) for kinds, names, *_rest in table(title) for kind in kinds for name in names}


def is_meant(shown: tuple[str, str], found: tuple[str, str]) -> bool:
    """Whether a row is about an object. Words in capitals stand for any."""
    pattern = re.sub(r"[A-Z]{4,}", "[a-z0-9-]+", shown[1])
    return shown[0] == found[0] and re.fullmatch(pattern, found[1]) is not None


def compare(title: str, found: Names) -> None:
    shown = listed(title)
    missing = {one for one in found if not any(is_meant(row, one) for row in shown)}
    superfluous = {row for row in shown if not any(is_meant(row, one) for one in found)}
    assert not missing and not superfluous, f"{PAGE.name}, «{title}»: missing {missing}, superfluous {superfluous}"


def names(objects: Iterable[dict[str, Any]]) -> Names:
    return {(item["kind"], item["metadata"]["name"]) for item in objects}


def test_the_hub(parsed_hub: Any) -> None:
    rendered = [item for changes in HUB for item in superlink.objects(parsed_hub(**changes))]
    found = names(rendered) | names(namespace_inspection.reserved_objects(SUPERLINK, parsed_hub()))
    found |= {("ConfigMap", "flower-site-site-a"), ("ConfigMap", "flower-bundle-site-a"), ("ConfigMap", audit.log_name(1))}
    for item in rendered:
        for claim in item.get("spec", {}).get("volumeClaimTemplates", []) if item["kind"] == "StatefulSet" else ():
            found.add(("PersistentVolumeClaim", f"{claim['metadata']['name']}-{item['metadata']['name']}-0"))
    compare("Objects of the hub", found)


def test_the_ca_keys(parsed_hub: Any) -> None:
    spec = parsed_hub(namespace="flower-ca")
    made = [*namespaces.namespace_objects(spec), *network_policies.default_deny(spec, SUPERLINK)]
    compare("Objects beside the CA keys", names(made) | {("Secret", name) for name in CA_SECRETS})


def test_a_site(parsed_site: Any) -> None:
    sites = [parsed_site(**changes, allocation={}) for changes in SITE]
    found = {one for site in sites for one in names(supernode.objects(site)) | names(namespace_inspection.reserved_objects(SUPERNODE, site))}
    compare("Objects of a site", found)


def test_temporary_objects(parsed_hub: Any, parsed_site: Any) -> None:
    site, hub = parsed_site(pools=POOLS, allocation={}), parsed_hub()
    (workload,) = [item for item in supernode.objects(site) if item["kind"] == "StatefulSet"]
    made = [
        site_jobs.key_job(site, site_jobs.ACCESS, "1a2b", {}, 60),
        *site_jobs.belongings(site, None, "1a2b", {}, {"secrets": []}, given=False),
        *site_jobs.pull_network_policies(site),
        site_jobs.pull_job(site, workload, {"supernode": "new"}, "worker-1", 60),
        volume_pod.pod(hub),
    ]
    compare("Temporary objects", names(made))


def test_kinds_of_policies(parsed_hub: Any, parsed_addon: Any) -> None:
    hub = parsed_hub(metrics={"enabled": True, "image": "x", "monitor": True, "acm": True})
    metrics = acm_policies.metrics_objects(hub, superlink.objects(hub.complete()), acm_policies.INFORM, {"local-cluster": "true"})
    made = [*acm_policies.baseline_objects(parsed_addon()), *metrics]
    (words,) = re.findall(r"``federated\.flower\.acm_policy -e.*?\n\n", PAGE.read_text(encoding="utf-8"), re.S)
    assert {item["kind"] for item in made if f"``{item['kind']}``" not in words} == set()


def test_rights(superlink_spec: Any, supernode_spec: Any) -> None:
    hub = superlink_spec(exposure="node_port", superlink_address="")
    site = supernode_spec(key_source="site", pools=[{**POOLS[0], "mode": "DaemonSet", "replicas": None}])
    given = [*rights_objects(SUPERLINK, hub, SETTINGS), *rights_objects(SUPERNODE, site, SETTINGS)]
    compare("Rights", names(given))


def test_kinds_of_other_projects() -> None:
    """Those that the controller needs the right to create."""
    wanted = {
        need.resource
        for part in (SUPERLINK, SUPERNODE)
        for need in TABLE[CONTROLLER, part]
        if need.resource.endswith(("skupper.io", "open-cluster-management.io"))
        and "create" in need.verbs.split()
        and "/" not in need.resource
    }
    kinds = [kind for row in table("Kinds of other projects") for kind in row[0]]
    assert len(kinds) == len(set(kinds))
    assert {plural_of(kind) for kind in kinds} == {resource.partition(".")[0] for resource in wanted}


def test_the_guide_on_security_has_every_secret(parsed_site: Any, parsed_link: Any) -> None:
    page = (PAGE.parent / "guide_security.rst").read_text(encoding="utf-8")
    site = [name for spec in SITE for kind, name in names(namespace_inspection.reserved_objects(SUPERNODE, parsed_site(**spec))) if kind == "Secret"]
    known = {*namespace_inspection.HUB["Secret"], *CA_SECRETS, *site, parsed_link().name} - {keys_secret(pool["name"]) for pool in POOLS}
    assert {name for name in known if f"``{name}``" not in page} == set()


def test_a_skupper_network(parsed_network_site: Any, parsed_link: Any, parsed_listener: Any) -> None:
    site = parsed_network_site(install="manifests", scope="namespace", controller="skupper-controller")
    link, listener = parsed_link(), parsed_listener()
    made = [
        *skupper.site_objects(site),
        *skupper.skupper_site_objects(site),
        skupper.link_secret(link, {}),
        *skupper.skupper_link_objects(link, [{"host": "hub.example.com", "port": "55671"}]),
        *skupper.skupper_listener_objects(listener),
        *skupper.skupper_connector_objects(listener),
    ]
    compare("Objects of a Skupper network", names(item for item in made if item["apiVersion"] != skupper.API) | {("Lease", skupper.ROUTER_LEASE)})


@pytest.mark.parametrize("mark", [proof.MANAGED_BY, proof.INSTANCE, proof.CREATED_FOR, proof.ADOPT, owners.FEDERATION])
def test_the_marks_are_named(mark: str) -> None:
    assert mark in PAGE.read_text(encoding="utf-8")
