# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a restore says of a hub that is not empty."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.action import superlink_restore
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.backup.two_hubs import Kept


@pytest.mark.parametrize("has_claim", [True, False])
def test_that_emptying_a_hub_deletes_its_outputs_is_said(superlink_spec, monkeypatch, has_claim):
    monkeypatch.setattr(superlink_restore, "inspect_namespace", lambda *_arguments, **_more: None)
    hub = Kept("hub")
    hub.put_hub()
    if not has_claim:
        del hub.objects["PersistentVolumeClaim", "superlink-outputs"]
    spec = HubSpec.parse(superlink_spec(namespace="flower"))
    with pytest.raises(ClusterError, match="delete the hub's namespaces first") as caught:
        superlink_restore.ActionModule._refuse_hub(hub, spec, "flower-ca", "a.tar")
    assert ("the outputs of runs, which no backup has: before that, fetch them" in caught.value.message) is has_claim
