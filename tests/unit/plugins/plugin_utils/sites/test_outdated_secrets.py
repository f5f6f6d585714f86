# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A shared Secret that was replaced: every run knows that pods run with the former one, until they were restarted."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import SITE
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import keys, public
from ansible_collections.federated.flower.plugins.plugin_utils.sites import direct_certificates, key_sources
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import KeyResult, Site
from ansible_collections.federated.flower.tests.unit.shared_namespace import FEDERATION, SharedNamespace, pod

WANTED = keys.Wanted([keys.Pool("cpu", ["0"], 0)])
BEFORE, POD_MADE, AFTER, MUCH_LATER = (f"2026-11-21T1{hour}:00:00Z" for hour in range(4))


class Cluster:
    """A cluster with the Secrets of a site and one pod."""

    name = "site-a"
    skew = 0.5

    def __init__(self) -> None:
        self.secrets: dict[str, Any] = {}
        self.pod = {"metadata": {"name": "supernode-cpu-0", "creationTimestamp": POD_MADE}}
        self.published: Any = None
        self.read: list[str] = []

    def store(self, secret: Mapping[str, Any], at: str) -> None:
        """Keep a Secret as the API server would."""
        live: dict[str, Any] = copy.deepcopy(dict(secret))
        field = {"manager": "federated.flower", "operation": "Apply", "time": at}
        live["metadata"] |= {"creationTimestamp": at, "uid": "1", "resourceVersion": at, "managedFields": [field]}
        self.secrets[live["metadata"]["name"]] = live

    def list(self, _api: str, kind: str, _namespace: str, *, labels: str) -> list[Any]:
        """Secrets or pods."""
        self.read.append(kind)
        return list(self.secrets.values()) if kind == "Secret" else [self.pod]

    def get(self, _api: str, kind: str, _name: str, _namespace: str | None = None) -> Any:
        """What the site publishes."""
        return self.published if kind == "ConfigMap" else None


@pytest.fixture
def cluster(monkeypatch) -> Cluster:
    """With pods that run with the first Secrets. What is written is written later than they were made."""
    found = Cluster()
    for secret in keys.plan(FEDERATION, "flower", WANTED.pools, {}).secrets:
        found.store(secret, BEFORE)

    def apply(_cluster: Any, objects: list[Any], *, check: bool = False, **_more: Any) -> Result:
        for one in objects if not check else []:
            found.store(one, AFTER)
        return Result(changed=bool(objects))

    monkeypatch.setattr(key_sources, "apply_objects", apply)
    return found


@pytest.fixture
def make(parsed_site, cluster):
    site = Site("site-a", parsed_site(federation=FEDERATION, namespace="flower"), access_of({}))

    def made(source: type = key_sources.AtController, *, check: bool = False) -> KeyResult:
        cluster.read.clear()
        return source(SimpleNamespace(check=check, show_diff=False), site, cluster).make(WANTED)[1]

    return made


@pytest.mark.parametrize("name", keys.SHARED)
def test_a_restart_that_did_not_happen_is_due_in_every_run_until_it_has(cluster, make, name):
    del cluster.secrets[name]
    assert (make().renewed, make().renewed, make().due) == ([name], [], [name])
    assert make(check=True).due == [name]
    cluster.pod["metadata"]["creationTimestamp"] = MUCH_LATER
    assert (make().renewed, make().due) == ([], [])


def test_a_site_whose_shared_secrets_were_never_replaced_costs_no_further_request(cluster, make):
    for at in (BEFORE, MUCH_LATER):  # also not one whose Secrets someone annotated later
        for secret in cluster.secrets.values():
            secret["metadata"]["managedFields"].append({"manager": "kubectl-annotate", "time": at})
        assert (make().due, cluster.read) == ([], ["Secret"])


def test_the_first_secrets_of_a_site_replace_none(cluster, make):
    cluster.secrets.clear()
    assert (make().renewed, make().due) == ([], [])
    assert not any(keys.replaced_at(secret) for secret in cluster.secrets.values())


def test_a_rotation_restarts_pods_itself(cluster):
    plan = keys.plan(FEDERATION, "flower", WANTED.pools, cluster.secrets, renew={keys.SUPEREXEC: "1a2b"})
    assert [keys.REPLACED in secret["metadata"].get("annotations", {}) for secret in plan.secrets] == [False]


def test_a_site_that_makes_its_keys_itself_publishes_it(cluster, make):
    for secret in keys.plan(FEDERATION, "flower", WANTED.pools, {}, source=SITE).secrets:
        cluster.store(secret, BEFORE)
    cluster.published = public.record(FEDERATION, "flower", cluster.secrets)
    assert make(key_sources.AtSite).due == [] and "Pod" not in cluster.read
    del cluster.secrets[keys.LOCAL_TLS]
    for secret in keys.plan(FEDERATION, "flower", WANTED.pools, cluster.secrets, source=SITE).secrets:
        cluster.store(secret, AFTER)
    cluster.published = public.record(FEDERATION, "flower", cluster.secrets)
    assert public.read(cluster.published).replaced == {keys.LOCAL_TLS: AFTER}
    assert make(key_sources.AtSite).due == [keys.LOCAL_TLS]
    cluster.pod["metadata"]["creationTimestamp"] = MUCH_LATER
    assert make(key_sources.AtSite).due == []


def test_another_owner_does_not_hide_that_a_secret_was_replaced():
    secret = keys.build(FEDERATION, "flower", keys.SUPEREXEC, {"secret": "x"}, source=SITE, replaced=True)
    assert keys.REPLACED in keys.without(FEDERATION, "flower", secret, ())["metadata"]["annotations"]


def running(name: str, application: str, *containers: tuple[str, list[str]], sidecar: bool = False) -> dict[str, Any]:
    found = pod(name, application)
    found["spec"] = {"containers": [{"name": container, "args": args} for container, args in containers]}
    found["spec"]["initContainers"] = [{"name": "sidecar"}] if sidecar else []
    return found


SECRET = ["--superexec-auth-secret-file", "/superexec/secret"]
NODE = running(
    "supernode-cpu-0",
    "supernode",
    ("supernode", ["--root-certificates", "/local-ca/ca.crt", *SECRET]),
    ("superexec", ["--insecure", *SECRET]),
    sidecar=True,
)
APP = running("clientapp-cpu-0", "clientapp", ("superexec", ["--root-certificates", "/runtime-ca/ca.crt", *SECRET]))


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        (["superexec"], {"supernode": ["/superexec/secret"], "superexec": ["/superexec/secret"]}),
        (["loopback"], {"supernode": ["/local-ca/ca.crt"], "superexec": []}),
        (["trust"], {"supernode": [], "superexec": []}),
    ],
)
def test_each_process_that_shares_a_secret_is_asked(monkeypatch, parsed_site, files, asked):
    seen: dict[str, list[str]] = {}
    held = {keys.SUPEREXEC: {"secret": "s"}, keys.LOCAL_TLS: {"ca.crt": "c"}}
    site = Site("site-a", parsed_site(federation=FEDERATION, namespace="shared"), access_of({}))

    def is_old(_cluster: Any, _pod: Any, container: str, wanted: Mapping[str, str]) -> bool:
        seen[container] = list(wanted)
        return False

    monkeypatch.setattr(direct_certificates.outdated_pods, "is_outdated", is_old)
    assert direct_certificates.old(SharedNamespace(NODE), site, files, held.__getitem__) == {}
    assert seen == asked
    # The process beside the SuperNode restarts alone: one of them has the former secret.
    monkeypatch.setattr(
        direct_certificates.outdated_pods, "is_outdated", lambda _c, _p, name, wanted: name == "superexec" and bool(wanted)
    )
    found = direct_certificates.old(SharedNamespace(NODE, APP), site, files, held.__getitem__)
    assert found == {"superexec": {"cpu": [NODE, APP]}, "loopback": {"cpu": [APP]}, "trust": {}}[files[0]]
