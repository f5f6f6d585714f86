# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What messages ask for, and which ones are refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.events.wish import ALERTS, Wish, shown, wishes
from ansible_collections.federated.flower.tests.unit.read import yaml_file

NAMESPACES = ("at-a", "flower")


def alert(name: Any, status: str = "firing", **labels: Any) -> dict[str, Any]:
    return {"status": status, "labels": {"alertname": name, **labels}}


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        ({"alerts": [alert("FlowerSiteOffline", site="a"), alert("FlowerCertificateExpiresSoon")]}, [Wish("repair", "a"), Wish("rotate")]),
        ({"alerts": [alert("FlowerSiteOffline", "resolved", site="a")]}, []),
        ({"alerts": [alert("FlowerSuperLinkUnreachable")]}, [Wish("report")]),
        ({"alerts": [alert("Mine", run_id="7")]}, [Wish("fetch", "7")]),
        ({"alerts": []}, []),
        ({"alerts": [alert("FlowerSuperNodeOffline", site="a")]}, [Wish("heal", "a")]),
        ({"alerts": [alert("FlowerSiteOffline", site="a", namespace="flower")]}, [Wish("repair", "a")]),
        ({"alerts": [alert("FlowerSiteOffline", site="a", namespace="at-a")]}, [Wish("repair", "a")]),
        ({"alerts": [alert("FlowerSiteOffline", "resolved", site="a", namespace="flower-b")]}, []),
        ({"type": "site-degraded", "site": "a", "more": 1}, [Wish("repair", "a")]),
        ({"type": "supernode-offline", "site": "a"}, [Wish("heal", "a")]),
        ({"type": "run-ended", "run_id": 18446744073709551615}, [Wish("fetch", "18446744073709551615")]),
        ({"type": "run-ended", "run_id": "007"}, [Wish("fetch", "007")]),
        ({"type": "certificate-due"}, [Wish("rotate")]),
        ({"type": "status"}, [Wish("report")]),
    ],
)
def test_what_is_asked_for(payload: Any, wanted: list[Wish]) -> None:
    assert wishes(payload, {**ALERTS, "Mine": "fetch"}, NAMESPACES) == (wanted, [])


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ([], "a message is not an object, but []"),
        ("all", "a message is not an object, but 'all'"),
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
        ({"alerts": [alert("Other", site="a")]}, "alert 'Other' has no action; flower_event_alerts can give it one"),
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
    found, (refused,) = wishes(payload, ALERTS, NAMESPACES)
    assert found == [] and refused.startswith(reason), refused


def test_a_value_is_shown_on_one_short_line() -> None:
    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 1000)) == 80


def test_the_alerts_are_those_of_the_collection():
    (group,) = yaml_file("roles", "superlink", "files", "metrics", "alerts.yml")["groups"]
    assert set(ALERTS) <= {rule["alert"] for rule in group["rules"]}
