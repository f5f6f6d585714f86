# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action.rotation import ActionModule
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import (
    GATEWAY_NEXT_SECRET,
    GATEWAY_NEXT_VOLUME,
    GATEWAY_VOLUME,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import secret
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import (
    ca_state,
    hub_steps,
    machine,
    secrets_rotation,
)
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import Authority
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.hub_steps import (
    Hub,
    RotationError,
    Settings,
    issued_facts,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.shared_namespace import FEDERATION, SharedNamespace, pod

DAY = datetime.timedelta(days=1)


def test_what_the_audit_trail_says_of_a_new_certificate() -> None:
    """Like the facts of certificates that site.yml issues: who reads the trail sorts them by their change."""
    issued = certificates.make_ca("a CA", datetime.timedelta(days=1))
    facts = certificates.describe(issued.certificate)
    assert issued_facts("flower-ca", issued.certificate) == {
        "change": "issued",
        "name": "flower-ca",
        **{name: facts[name] for name in ("serial", "fingerprint", "not_after")},
    }


def test_only_the_gateway_of_the_federation_gets_its_files_at_once() -> None:
    """A SuperLink of others, such as a Helm release of the same name, may be in the namespace."""
    cluster = SharedNamespace(pod("superlink-0", "superlink"), pod("helm-superlink-0", "superlink", ours=False))
    Hub(cluster, Settings(FEDERATION, "shared", "shared-ca", DAY, DAY), lambda **_facts: None).refresh_files()
    assert cluster.touched == ["superlink-0"]


CA = certificates.make_ca("a CA", DAY)


def hub_with(**changed: str) -> Hub:
    """A hub whose CA someone has changed by hand."""
    data = {"tls.crt": CA.certificate, "tls.key": CA.key, **{name.replace("_", "."): text for name, text in changed.items()}}
    live = secret(FEDERATION, "shared-ca", "flower-ca", data, application="superlink")
    cluster = SharedNamespace(objects={("Secret", "flower-ca"): live})
    return Hub(cluster, Settings(FEDERATION, "shared", "shared-ca", DAY, DAY), lambda **_facts: None)


def test_a_key_of_the_ca_that_cannot_be_used_is_lost() -> None:
    assert hub_with().ca()[1].authority.current.key == CA.key
    for key in ("not a key", certificates.make_ca("another", DAY).key):
        state = hub_with(tls_key=key).ca()[1]
        assert state.authority.current == certificates.Issued(CA.certificate, "")


def test_a_ca_that_cannot_be_read_is_named() -> None:
    with pytest.raises(RotationError, match="Secret shared-ca/flower-ca on site-a: tls.crt is not a PEM certificate.*restore it from a backup"):
        hub_with(tls_crt="x").ca()


def settings_with(certificate: str, key: str, source: str = "builtin") -> Settings:
    """The settings of a rotation, with a CA from variables."""
    action: Any = object.__new__(ActionModule)
    action.inventory_host = "site-a"
    action.task_vars = {"hostvars": {"hub": {"superlink_ca_certificate": certificate, "superlink_ca_key": key}}}
    action._options = {
        "hub": "hub", "certificates_source": source, "certificate_days": 90, "ca_days": 900, "federation": FEDERATION, "hub_namespace": "shared",
    }  # fmt: skip
    return action._settings("shared-ca")


def test_a_ca_from_a_lookup_is_taken_as_by_a_deployment() -> None:
    """A lookup omits the last line end, and a file of a CA may have comments: neither gets into the gateway's certificate."""
    found = settings_with("# Universit\u00e4t\n" + CA.certificate.strip(), CA.key.strip()).handed_in
    assert found == CA


def test_a_ca_from_variables_that_cannot_sign_is_named() -> None:
    ended = certificates.make_ca("ended", -DAY / 1440)
    with pytest.raises(ClusterError, match="superlink_ca_certificate CN=ended expired on .*: set the certificate of the CA"):
        settings_with(ended.certificate, ended.key)
    with pytest.raises(ClusterError, match="superlink_ca_key belongs to another certificate than CN=a CA"):
        settings_with(CA.certificate, ended.key)
    assert settings_with(ended.certificate, ended.key, "existing").handed_in is None, "it is not used there"


NOW = datetime.datetime.now(datetime.timezone.utc)
NEXT = ca_state.begin(ca_state.State(Authority(CA)), certificates.make_ca("the next CA", DAY), NOW)
PUBLISHED = {"metadata": {}, "data": {"server_name": "hub.example", "address": "hub.example:9092", "ca.crt": CA.certificate}}
VOLUMES = [{"name": name, "secret": {"secretName": name}} for name in (GATEWAY_VOLUME, GATEWAY_NEXT_VOLUME)]


def signing_hub(monkeypatch: pytest.MonkeyPatch, skew: float, state: ca_state.State) -> tuple[Hub, list[str]]:
    """A hub whose clock is so many seconds ahead of the control node's; and what is written to it."""
    written: list[str] = []

    def apply(_cluster: Any, objects: Any) -> Any:
        written.extend(one["metadata"]["name"] for one in objects)
        return SimpleNamespace(objects=[])

    live = secret(FEDERATION, "shared-ca", "flower-ca", state.authority.entries(), application="superlink", annotations=state.notes())
    workload = {"spec": {"template": {"spec": {"volumes": VOLUMES}}}}
    objects = {
        ("Secret", "flower-ca"): live,
        ("ConfigMap", "flower-federation"): PUBLISHED,
        ("StatefulSet", "superlink"): workload,
    }
    cluster: Any = SharedNamespace(objects=objects)
    cluster.skew, cluster.replace = skew, lambda item: written.append(item["metadata"]["name"])
    monkeypatch.setattr(hub_steps, "apply_objects", apply)
    return Hub(cluster, Settings(FEDERATION, "shared", "shared-ca", DAY, DAY), lambda **_facts: None), written


@each_row(
    ("step", "state", "writes"),
    [
        (machine.ISSUE, ca_state.State(Authority(CA)), GATEWAY_VOLUME),
        (machine.ISSUE_NEXT, NEXT, GATEWAY_NEXT_SECRET),
        (machine.BEGIN, ca_state.State(Authority(CA)), "flower-ca"),
    ],
)
def test_nothing_is_signed_by_a_clock_that_is_ahead(monkeypatch: pytest.MonkeyPatch, step: str, state: ca_state.State, writes: str) -> None:
    """The gateway would serve it at once, and every site would refuse it until it begins."""
    hub, written = signing_hub(monkeypatch, -3600.0, state)
    with pytest.raises(ClusterError, match="the clock of the control node is 60 minutes ahead of that of site-a, so nothing is signed: .*NTP"):
        hub.do(machine.Step(step), NOW)
    assert written == []
    hub, written = signing_hub(monkeypatch, -290.0, state)
    hub.do(machine.Step(step), NOW)
    assert written == [writes], "certificates are dated back by five minutes"


POD = {"metadata": {"creationTimestamp": "2026-11-21T10:00:00Z"}}


def written_secret(made, *written):
    return {"metadata": {"creationTimestamp": made, "managedFields": [{"time": time} for time in written]}}


def test_a_secret_that_was_written_after_its_pod_was_made_is_younger():
    assert secrets_rotation.is_newer(written_secret("2026-11-21T10:00:01Z"), POD)
    assert secrets_rotation.is_newer(written_secret("2026-11-21T09:00:00Z", "2026-11-21T09:00:00Z", "2026-11-21T11:00:00Z"), POD)


def test_a_pod_that_was_made_after_its_secrets_is_not_looked_into():
    assert not secrets_rotation.is_newer(written_secret("2026-11-21T09:59:59Z", "2026-11-21T10:00:00Z"), POD)
    assert not secrets_rotation.is_newer(None, POD)


def test_pods_of_others_in_the_namespace_of_the_hub_are_not_asked(monkeypatch):
    asked = []
    monkeypatch.setattr(secrets_rotation.outdated_pods, "is_outdated", lambda _cluster, one, *_more: asked.append(one) or True)
    own = [pod("superlink-0", "superlink"), pod("serverapp-a", "serverapp")]
    cluster = SharedNamespace(*own, pod("helm-superlink-0", "superlink", ours=False), pod("helm-a", "serverapp", ours=False))
    assert secrets_rotation.pods_with_old_secrets(cluster, "shared", FEDERATION) == asked == own
