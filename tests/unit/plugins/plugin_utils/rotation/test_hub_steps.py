# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.hub_steps import Hub, Settings, public
from ansible_collections.federated.flower.tests.unit.shared_namespace import FEDERATION, SharedNamespace, pod

DAY = datetime.timedelta(days=1)


def test_what_the_audit_trail_says_of_a_new_certificate() -> None:
    """Like the facts of certificates that site.yml issues: who reads the trail sorts them by their change."""
    issued = certificates.make_ca("a CA", datetime.timedelta(days=1))
    facts = certificates.describe(issued.certificate)
    assert public("flower-ca", issued.certificate) == {
        "change": "issued",
        "name": "flower-ca",
        **{name: facts[name] for name in ("serial", "fingerprint", "not_after")},
    }


def test_only_the_gateway_of_the_federation_gets_its_files_at_once() -> None:
    """A SuperLink of others, such as a Helm release of the same name, may be in the namespace."""
    cluster = SharedNamespace(pod("superlink-0", "superlink"), pod("helm-superlink-0", "superlink", ours=False))
    Hub(cluster, Settings(FEDERATION, "shared", "shared-ca", DAY, DAY), lambda **_facts: None).bring_files()
    assert cluster.touched == ["superlink-0"]
