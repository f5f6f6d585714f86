# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Secret for the tracking server, before anything is changed."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.preflight.tracking_checks import fault, warnings


@pytest.mark.parametrize(
    ("live", "words"),
    [
        (None, "Secret flower/mlflow does not exist: create it"),
        ({"data": {"user": "eA=="}}, "has no entry pass: add it"),
        ({}, "has no entry user and no pass"),
        ({"data": {"user": "eA==", "pass": "eA=="}}, ""),
    ],
)
def test_it_has_what_the_pod_needs(parsed_hub, live, words):
    tracking = {"uri": "https://x", "secret": "mlflow", "username_key": "user", "password_key": "pass"}
    found = fault(parsed_hub(tracking=tracking), live)
    assert words in found if words else not found


ANY = "apps of the hub may connect to any address on port"
SVC = "write NAME.NAMESPACE.svc"


@pytest.mark.parametrize(
    ("given", "words", "service"),
    [
        ({}, "", False),
        ({"tracking": {"uri": "https://192.0.2.7"}}, "", False),
        ({"tracking": {"uri": "https://mlflow.mlops.svc"}}, "", False),
        ({"tracking": {"uri": "https://mlflow.mlops.svc.cluster.local:8443"}}, "", False),
        ({"tracking": {"uri": "https://mlflow.example.com"}}, f"mlflow.example.com is one: {ANY} 443", False),
        ({"tracking": {"uri": "https://mlflow:5000"}}, f"{ANY} 5000", True),
        ({"tracking": {"uri": "https://mlflow.mlops:5000"}}, f"{ANY} 5000", True),
        ({"tracking": {"uri": "https://mlflow.prod.svc.hospital.example"}}, f"{ANY} 443", True),
        ({"tracking": {"uri": "https://mlflow", "egress": [{"cidr": "192.0.2.7"}]}}, "", False),
        ({"tracking": {"uri": "https://mlflow.example.com"}, "network_policies": False}, "", False),
    ],
)
def test_a_name_opens_the_way_to_every_address(parsed_hub, given, words, service):
    found = warnings(parsed_hub(**given))
    assert len(found) == bool(words) and words in "".join(found) and (SVC in "".join(found)) == service
    assert all("superlink_tracking.egress" in one for one in found)


@pytest.mark.parametrize(
    ("uri", "secret", "credentials", "warned"),
    [
        ("http://192.0.2.7:5000", "mlflow", [], True),
        ("HTTP://192.0.2.7:5000", "", ["token"], True),
        ("http://192.0.2.7:5000", "", [], False),
        ("https://192.0.2.7:5000", "mlflow", [], False),
        ("http://mlflow.mlops.svc:5000", "mlflow", [], False),
    ],
)
def test_credentials_in_clear_text(parsed_hub, uri, secret, credentials, warned):
    keys = {"secret": secret, "token_key": "token"} if secret else {}
    found = warnings(parsed_hub(tracking={"uri": uri, **keys}, tracking_credentials=credentials))
    assert len(found) == warned and all("192.0.2.7 in clear text" in one and "Use https" in one for one in found)
