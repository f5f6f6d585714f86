# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of pools that are dropped: which Secrets are changed or deleted."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import keys_secret
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners
from ansible_collections.federated.flower.plugins.plugin_utils.pki import keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import keys
from ansible_collections.federated.flower.plugins.plugin_utils.sites import key_sources
from ansible_collections.federated.flower.plugins.plugin_utils.sites.key_sources import AtController
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit import strange_crypto
from ansible_collections.federated.flower.tests.unit.rows import each_row


class Secrets(Cluster):
    """A cluster with the Secret of one pool, which may have been replaced since it was read."""

    def __init__(self, federation: str = "demo", manager: str = "federated.flower", *, replaced: bool = False) -> None:
        self.name, self._clock = "site-a", None
        secret = keys.build(federation, "lab", "supernode-cpu-keys", {"0": "a", "1": "b"}, pool=keys.Pool("cpu", ["0", "1"], 0))
        secret["metadata"] |= {"uid": "1", "resourceVersion": "7", "managedFields": [{"manager": manager, "operation": "Apply"}]}
        self.secret, self.replaced = secret, replaced
        self.sent: list[tuple[str, Any]] = []

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.secret if name == "supernode-cpu-keys" else None

    def request(self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = "", **_more: Any) -> Any:
        self.sent.append((method, body.get("preconditions") or body["metadata"]["resourceVersion"]))
        if self.replaced:
            raise Conflict("site-a", f"{method} {path}", 409, {"message": "the precondition differs"})
        return {}


@pytest.fixture
def noted() -> list[dict[str, str]]:
    return []


def drop(cluster: Secrets, names: list[str], noted: list[dict[str, str]]) -> None:
    run = SimpleNamespace(note=lambda _site, objects: noted.extend(objects))
    site = SimpleNamespace(name="site-a", namespace="lab", federation="demo")
    AtController(run, site, cluster).drop({"cpu": names, "gone": ["0"]})


def test_exactly_the_secret_that_was_read_is_deleted(noted: list[dict[str, str]]) -> None:
    cluster = Secrets()
    drop(cluster, ["0", "1"], noted)
    assert cluster.sent == [("DELETE", {"uid": "1", "resourceVersion": "7"})]
    assert noted == [{"change": "deleted", "object": "Secret lab/supernode-cpu-keys"}]


def test_keys_that_are_needed_stay(noted: list[dict[str, str]]) -> None:
    cluster = Secrets()
    drop(cluster, ["1"], noted)
    assert cluster.sent == [("PUT", "7")] and noted[0]["change"] == "changed"


@pytest.mark.parametrize("whose", [{"federation": "other"}, {"manager": "kubectl-create"}])
def test_a_secret_of_someone_else_is_refused(noted: list[dict[str, str]], whose: dict[str, str]) -> None:
    cluster = Secrets(**whose)
    with pytest.raises(ClusterError, match="Secret lab/supernode-cpu-keys on site-a was not created by this collection"):
        drop(cluster, ["0", "1"], noted)
    assert not cluster.sent and not noted


@pytest.mark.parametrize("names", [["0"], ["0", "1"]])
def test_a_secret_that_another_run_replaced_stays(noted: list[dict[str, str]], names: list[str]) -> None:
    cluster = Secrets(replaced=True)
    with pytest.raises(ClusterError, match="was changed by another run in the meantime. Run again"):
        drop(cluster, names, noted)
    assert len(cluster.sent) == 1 and not noted


class Listed(Cluster):
    """A cluster with some Secrets, in which nothing may be written."""

    def __init__(self, *secrets: dict[str, Any]) -> None:
        self.name, self._clock = "site-a", None
        self.secrets = secrets

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return next((one for one in self.secrets if one["metadata"]["name"] == name), None)

    def list(self, api_version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        return self.secrets if kind == "Secret" else []


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the Secrets that are applied."""
    found: list[str] = []

    def apply(_cluster: Any, objects: list[dict[str, Any]], **_more: Any) -> Any:
        found.extend(one["metadata"]["name"] for one in objects if one["kind"] == "Secret")
        return SimpleNamespace(changed=True, diff=[], objects=[])

    monkeypatch.setattr(key_sources, "apply_objects", apply)
    return found


def test_keys_of_another_federation_are_no_keys_of_a_pool_that_is_gone(
    written: list[str], parsed_site: Callable[..., SiteSpec]
) -> None:
    pool = keys.Pool("cpu", ["0"], 0)
    strange = [
        keys.build("other", "lab", keys_secret(name), {"0": keypairs.make_supernode_key()}, pool=keys.Pool(name, ["0"], 0)) for name in ("cpu", "old")
    ]
    gone = keys.build("demo", "lab", keys_secret("gone"), {"0": keypairs.make_supernode_key()}, pool=keys.Pool("gone", ["0"], 0))
    spec = parsed_site(federation="demo", namespace="lab")
    site = SimpleNamespace(name="site-a", namespace="lab", federation="demo", spec=spec, given={}, claim=False, identity="")
    found, _made = AtController(SimpleNamespace(check=True), site, Listed(*strange, gone)).make(keys.Wanted([pool]))
    assert found.extra == {"gone": ["0"]}
    assert keys_secret("cpu") in written, "it is refused when it is written: another federation has an object of this name"


@pytest.mark.parametrize("ahead", [0, 3600])
def test_no_certificate_is_signed_that_the_site_takes_for_one_of_the_future(
    written: list[str], parsed_site: Callable[..., SiteSpec], ahead: int
) -> None:
    """It is not replaced later: the sidecar would serve it, and SuperNodes would refuse it until it begins."""
    cluster, now = Listed(), time.time()
    cluster._note_clock(now, formatdate(now - ahead, usegmt=True))
    spec = parsed_site(federation="demo", namespace="lab")
    site = SimpleNamespace(name="site-a", namespace="lab", federation="demo", spec=spec, given={}, claim=False, identity="")
    source = AtController(SimpleNamespace(check=False), site, cluster)
    if not ahead:
        source.make(keys.Wanted([keys.Pool("cpu", ["0"], 0)]))
        assert keys.LOCAL_TLS in written
        return
    with pytest.raises(ClusterError, match="the clock of the control node is 60 minutes ahead of that of site-a, so nothing is signed"):
        source.make(keys.Wanted([keys.Pool("cpu", ["0"], 0)]))
    assert written == []


@each_row("entry", ["supernode-cpu-keys", "supernode-local-tls"])
def test_a_secret_with_a_key_or_certificate_of_an_unknown_kind_is_reported(entry: str, parsed_site: Callable[..., SiteSpec]) -> None:
    data = {"0": strange_crypto.supernode_key()} if "cpu" in entry else {"tls.crt": strange_crypto.certificate()}
    site = SimpleNamespace(name="site-a", namespace="lab", federation="demo", spec=parsed_site(federation="demo", namespace="lab"), given={})
    source = AtController(SimpleNamespace(check=True), site, Listed(keys.build("demo", "lab", entry, data)))
    with pytest.raises(ClusterError, match=f"Secrets {entry} in namespace lab of site-a .* cannot be read .* delete only it .* Keep the others") as error:
        source.make(keys.Wanted([keys.Pool("cpu", ["0"], 0)], listener="x" if "tls" in entry else ""))
    assert "nine" not in str(error.value), "no part of a private key"


class Elsewhere(Cluster):
    """A cluster where another hub has deployed a site of the same name."""

    def __init__(self) -> None:
        self.name, self._clock = "site-a", None

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        notes = owners.deployment_notes("demo", "site-a", "prod")
        return {"metadata": {"name": name, "namespace": namespace, "annotations": notes}} if kind == "ConfigMap" else None

    def list(self, api_version: str, kind: str, namespace: str | None = None, **_chosen: Any) -> Any:
        return []


@pytest.mark.parametrize(("identity", "claim", "written"), [("staging", False, 0), ("staging", True, 1), ("prod", False, 1), ("", False, 1)])
def test_keys_of_another_hub_are_not_touched(parsed_site, monkeypatch, identity, claim, written) -> None:
    applied: list[Any] = []
    monkeypatch.setattr(key_sources, "apply_objects", lambda _cluster, objects, **_more: applied.append(objects) or Result(changed=True))
    site = Site("site-a", parsed_site(federation="demo", namespace="lab"), access_of({}), claim=claim, identity=identity)
    source = AtController(SimpleNamespace(check=False), site, Elsewhere())
    with nullcontext() if written else pytest.raises(ClusterError, match="site-a: namespace lab contains .* of another hub"):
        source.make(keys.Wanted([keys.Pool("cpu", ["0"], 0)]))
    assert len(applied) == written


DAEMONS = [{"name": "edge", "mode": "DaemonSet"}, {"name": "cpu", "replicas": 2}]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([f"n{number}" for number in range(999)], "its pools would have 1001 SuperNodes, .* at most 1000. Choose fewer nodes"),
        (["n1", "x/../site-b-cpu-0"], "pool edge: its API server lists a node whose name is not a DNS name .*: 'x/../site-b-cpu-0'"),
        ([".."], "is not a DNS name"),
        (["n\n"], "is not a DNS name"),
        (["n" * 254], "is not a DNS name"),
    ],
)
def test_nodes_of_a_hostile_api_server_get_no_keys(parsed_site: Callable[..., SiteSpec], names: list[str], words: str) -> None:
    listed = [{"metadata": {"name": name}} for name in names]
    with pytest.raises(ClusterError, match=words):
        key_sources.wanted("site-a", parsed_site(pools=DAEMONS), {}, (), lambda: listed)


def test_nodes_of_a_cluster_get_keys(parsed_site: Callable[..., SiteSpec]) -> None:
    names = [*(f"ip-10-0-0-{number}.ec2.internal" for number in range(997)), "n" * 253]
    needed, _ready = key_sources.wanted("site-a", parsed_site(pools=DAEMONS), {}, (), lambda: [{"metadata": {"name": name}} for name in names])
    assert sorted(needed.pools[0].names) == sorted(names) and needed.pools[1].names == ["0", "1"]
