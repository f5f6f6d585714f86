# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the event source: no webhook without a secret, and errors that name the remedy but no secret."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.events.source_options import read

SECRET = "0123456789abcdef"
GOOD = {"port": 5000, "token": SECRET, "inventory": "/etc/flower"}


def test_defaults() -> None:
    found = read({**GOOD, "certfile": "", "hmac_secret": "", "sites": []})
    assert found.webhook == {"host": "127.0.0.1", "port": 5000, "token": SECRET}
    assert (found.watch, found.gather, found.repairs, found.pause, found.most) == (60, 5, 3, 900, 20)
    assert found.sites == [] == found.namespaces and found.alerts["FlowerSiteOffline"] == "repair"


def test_alerts_are_added() -> None:
    found = read({**GOOD, "alerts": {"Mine": "report", "FlowerSiteOffline": "report"}}).alerts
    assert (found["Mine"], found["FlowerSiteOffline"], found["FlowerSuperNodeOffline"]) == ("report", "report", "heal")


def test_namespaces_of_the_federation() -> None:
    assert read({**GOOD, "namespaces": ["trial", "trial-a"]}).namespaces == ["trial", "trial-a"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"token": ""}, "token, hmac_secret: the webhook needs one of them"),
        ({"token": "short-secret"}, "token: is not a text of 16 characters or more"),
        ({"token": 12345678901234567890}, "token: is not a text of 16 characters or more"),
        ({"hmac_secret": ["x"]}, "hmac_secret: is not a text of 16 characters or more"),
        ({"cafile": "/ca.pem"}, "cafile: it has no effect without certfile"),
        ({"keyfile": "/key.pem", "certfile": ""}, "keyfile: it has no effect without certfile"),
        ({"inventory": ""}, "inventory, sites: set one of them"),
        ({"sites": ["a"]}, "inventory, sites: set one of them"),
        ({"inventory": "", "sites": "a"}, "sites: is not a list of names"),
        ({"namespaces": "flower"}, "namespaces: is not a list of names (flower_event_namespaces)"),
        ({"port": 0, "watch": 0}, "port, watch: there is nothing to do"),
        ({"gather": "5 s"}, "gather: '5 s' is not a number of 0 or more"),
        ({"pause": -1}, "pause: -1 is not a number of 0 or more"),
        ({"alerts": {"Mine": "deploy"}}, "alerts: Mine: 'deploy' is not one of repair, heal, rotate, fetch, report"),
        ({"alerts": ["Mine"]}, "alerts: is not a dict"),
        ({"outputs_directory": "outputs"}, "outputs_directory: outputs is not an absolute path"),
        ({"limit": "all"}, "limit: there is no such option"),
    ],
)
def test_what_is_wrong(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError) as raised:
        read({**GOOD, **changed})
    assert str(raised.value).startswith(reason)
    assert SECRET not in str(raised.value) and "short-secret" not in str(raised.value)
