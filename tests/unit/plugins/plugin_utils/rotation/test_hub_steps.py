# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.hub_steps import public


def test_what_the_audit_trail_says_of_a_new_certificate() -> None:
    """Like the facts of certificates that site.yml issues: who reads the trail sorts them by their change."""
    issued = certificates.make_ca("a CA", datetime.timedelta(days=1))
    facts = certificates.describe(issued.certificate)
    assert public("flower-ca", issued.certificate) == {
        "change": "issued",
        "name": "flower-ca",
        **{name: facts[name] for name in ("serial", "fingerprint", "not_after")},
    }
