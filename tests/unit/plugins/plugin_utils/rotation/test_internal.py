# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.rotation import internal
from ansible_collections.federated.flower.tests.unit.shared_namespace import FEDERATION, SharedNamespace, pod

POD = {"metadata": {"creationTimestamp": "2026-11-21T10:00:00Z"}}


def secret(made, *written):
    return {"metadata": {"creationTimestamp": made, "managedFields": [{"time": time} for time in written]}}


def test_a_secret_that_was_written_after_its_pod_was_made_is_younger():
    assert internal.is_younger(secret("2026-11-21T10:00:01Z"), POD)
    assert internal.is_younger(secret("2026-11-21T09:00:00Z", "2026-11-21T09:00:00Z", "2026-11-21T11:00:00Z"), POD)


def test_a_pod_that_was_made_after_its_secrets_is_not_looked_into():
    assert not internal.is_younger(secret("2026-11-21T09:59:59Z", "2026-11-21T10:00:00Z"), POD)
    assert not internal.is_younger(None, POD)


def test_pods_of_others_in_the_namespace_of_the_hub_are_not_asked(monkeypatch):
    asked = []
    monkeypatch.setattr(internal.restart, "is_old", lambda _cluster, one, *_more: asked.append(one) or True)
    own = [pod("superlink-0", "superlink"), pod("serverapp-a", "serverapp")]
    cluster = SharedNamespace(*own, pod("helm-superlink-0", "superlink", ours=False), pod("helm-a", "serverapp", ours=False))
    assert internal.old_pods(cluster, "shared", FEDERATION) == asked == own
