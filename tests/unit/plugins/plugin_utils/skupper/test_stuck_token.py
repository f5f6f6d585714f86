# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A token that cannot be redeemed does not stay: Skupper's controller, which serves other namespaces as well, would try it for ever."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_joining import Join
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import LinkSpec
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given

NO_WAY = "Controller got error: Post https://192.0.2.9:9090/1: dial tcp 192.0.2.9:9090: connect: connection timed out"


class Account:
    """Keeps what the join deletes; waits for nothing."""

    check = False

    def __init__(self, token: dict[str, Any]) -> None:
        self.objects, self.removed = {"AccessToken": token, "AccessGrant": given.live("AccessGrant", "flower-site-a")}, []

    def wait(self, _seconds: float, look: Any) -> Any:
        return look()

    def remove(self, _cluster: Any, objects: list[Any], _seconds: float, **_more: Any) -> None:
        self.removed += [one["kind"] for one in objects]


def redeem(token: dict[str, Any]) -> Account:
    account: Any = Account(token)
    cluster: Any = SimpleNamespace(
        name="site-a",
        skew=0,
        get=lambda _version, kind, *_which: {} if kind == "Namespace" else account.objects.get(kind),
        list=lambda _version, kind, _namespace: [given.site()] if kind == "Site" else [],
    )
    spec = LinkSpec.parse({"cluster": "site-a", "mode": "token", "name": "flower-hub"})
    with pytest.raises(ClusterError, match="was not redeemed after 1 s: .*connection timed out.*The token was deleted"):
        Join(account, cluster, cluster, spec, 1).redeem()
    return account


def test_a_token_that_finds_no_way_is_deleted():
    token = given.live("AccessToken", "flower-hub", {}, given.condition("Redeemed", False, NO_WAY), message=NO_WAY)
    assert redeem(token).removed == ["AccessToken"]
