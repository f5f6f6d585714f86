# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the event source: no webhook without a secret, and errors that name the remedy but no secret."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.event_request import (
    ALERTS,
    Request,
    parse_requests,
    read_options,
)
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

SECRET = "0123456789abcdef"
GOOD = {"port": 5000, "token": SECRET, "inventory": "/etc/flower"}

NAMESPACES = ("at-a", "flower")


def test_defaults() -> None:
    found = read_options({**GOOD, "certfile": "", "hmac_secret": "", "sites": []})
    assert found.webhook == {"host": "127.0.0.1", "port": 5000, "token": SECRET}
    assert (found.watch, found.gather, found.repairs, found.pause, found.most) == (60, 5, 3, 900, 20)
    assert found.sites == [] == found.namespaces and found.alerts["FlowerSiteOffline"] == "repair"


def test_alerts_are_added() -> None:
    found = read_options({**GOOD, "alerts": {"Mine": "report", "FlowerSiteOffline": "report"}}).alerts
    assert (found["Mine"], found["FlowerSiteOffline"], found["FlowerSuperNodeOffline"]) == ("report", "report", "heal")


@each_row(
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
        read_options({**GOOD, **changed})
    assert str(raised.value).startswith(reason)
    assert SECRET not in str(raised.value) and "short-secret" not in str(raised.value)


def alert(name: Any, status: str = "firing", **labels: Any) -> dict[str, Any]:
    return {"status": status, "labels": {"alertname": name, **labels}}


@each_row(
    ("payload", "wanted"),
    [
        ({"alerts": [alert("FlowerSiteOffline", site="a"), alert("FlowerCertificateExpiresSoon")]}, [Request("repair", "a"), Request("rotate")]),
        ({"alerts": [alert("FlowerSiteOffline", "resolved", site="a")]}, []),
        ({"alerts": [alert("FlowerSuperLinkUnreachable")]}, [Request("report")]),
        ({"alerts": [alert("Mine", run_id="7")]}, [Request("fetch", "7")]),
        ({"alerts": []}, []),
        ({"alerts": [alert("FlowerSuperNodeOffline", site="a")]}, [Request("heal", "a")]),
        ({"alerts": [alert("FlowerSiteOffline", site="a", namespace="flower")]}, [Request("repair", "a")]),
        ({"alerts": [alert("FlowerSiteOffline", site="a", namespace="at-a")]}, [Request("repair", "a")]),
        ({"alerts": [alert("FlowerSiteOffline", "resolved", site="a", namespace="flower-b")]}, []),
        ({"type": "site-degraded", "site": "a", "more": 1}, [Request("repair", "a")]),
        ({"type": "supernode-offline", "site": "a"}, [Request("heal", "a")]),
        ({"type": "run-ended", "run_id": 18446744073709551615}, [Request("fetch", "18446744073709551615")]),
        ({"type": "run-ended", "run_id": "007"}, [Request("fetch", "007")]),
        ({"type": "certificate-due"}, [Request("rotate")]),
        ({"type": "status"}, [Request("report")]),
    ],
)
def test_what_is_asked_for(payload: Any, wanted: list[Request]) -> None:
    assert parse_requests(payload, {**ALERTS, "Mine": "fetch"}, NAMESPACES) == (wanted, [])


@each_row(
    ("payload", "reason"),
    [
        ([], "a message must be a JSON object, not []"),
        ("all", "a message must be a JSON object, not 'all'"),
        ({}, "a message has the type None, which is not one of site-degraded, "),
        ({"type": ["status"]}, "a message has the type ['status']"),
        ({"type": "deploy", "site": "a"}, "a message has the type 'deploy'"),
        ({"type": "site-degraded"}, "message site-degraded: field site is None, not a name"),
        ({"type": "site-degraded", "site": ["a"]}, "message site-degraded: field site is ['a'], not a name"),
        ({"type": "run-ended", "run_id": True}, "message run-ended: field run_id is True, not the id of a run"),
        ({"type": "run-ended", "run_id": -1}, "message run-ended: field run_id is -1, not the id of a run"),
        ({"type": "run-ended", "run_id": "1,2"}, "message run-ended: field run_id is '1,2', not the id of a run"),
        ({"type": "run-ended", "run_id": "1\n"}, "message run-ended: field run_id is '1\\n', not the id of a run"),
        ({"alerts": ["x"]}, "an alert has no labels: 'x'"),
        ({"alerts": [{"labels": None}]}, "an alert has no labels: "),
        ({"alerts": [alert("Other", site="a")]}, "alert 'Other' has no action; set one in flower_event_alerts"),
        ({"alerts": [alert(["x"])]}, "alert ['x'] has no action"),
        ({"alerts": [alert("FlowerSiteOffline")]}, "alert FlowerSiteOffline: label site is None, not a name"),
        (
            {"alerts": [alert("FlowerSiteOffline", site="a", namespace="flower-b")]},
            "alert FlowerSiteOffline: label namespace is 'flower-b', which is none of this federation's, ['at-a', 'flower']; flower_event_namespaces",
        ),
        ({"alerts": [alert("FlowerCertificateExpired", namespace="flower-b")]}, "alert FlowerCertificateExpired: label namespace is 'flower-b'"),
        ({"alerts": [alert("FlowerCertificateExpired", namespace=["flower"])]}, "alert FlowerCertificateExpired: label namespace is ['flower']"),
    ],
)
def test_what_is_refused(payload: Any, reason: str) -> None:
    found, (refused,) = parse_requests(payload, ALERTS, NAMESPACES)
    assert found == [] and refused.startswith(reason), refused


def test_the_alerts_are_those_of_the_collection():
    (group,) = yaml_file("roles", "superlink", "files", "metrics", "alerts.yml")["groups"]
    assert set(ALERTS) <= {rule["alert"] for rule in group["rules"]}
