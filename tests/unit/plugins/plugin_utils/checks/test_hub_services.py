# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What works with the hub, before anything is changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.checks import hub_services
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import said

METRICS = {"enabled": True}


@each_row(
    ("live", "words"),
    [
        (None, "Secret flower/mlflow does not exist: create it"),
        ({"data": {"user": "eA=="}}, "has no entry pass: add it"),
        ({}, "has no entry user and no pass"),
        ({"data": {"user": "eA==", "pass": "eA=="}}, ""),
    ],
)
def test_the_secret_has_what_the_pod_needs(parsed_hub: Any, live: dict[str, Any] | None, words: str) -> None:
    tracking = {"uri": "https://x", "secret": "mlflow", "username_key": "user", "password_key": "pass"}
    faults, _warnings = said(hub_services.tracking_secret(parsed_hub(tracking=tracking), live))
    assert words in faults and bool(words) is bool(faults)


@each_row(
    ("live", "words"),
    [
        (None, "Secret flower/key does not exist: create it"),
        ({"data": {"AWS_ACCESS_KEY_ID": "eA=="}}, "has no entry secret: add"),
        ({"data": {"AWS_ACCESS_KEY_ID": "eA==", "secret": "eA=="}}, ""),
    ],
)
def test_the_secret_of_object_storage_has_what_the_pod_needs(parsed_hub: Any, live: dict[str, Any] | None, words: str) -> None:
    faults, _warnings = said(hub_services.storage_secret(parsed_hub(outputs_s3={"endpoint": "https://x", "secret": "key", "secret_key": "secret"}), live))
    assert words in faults and bool(words) is bool(faults) and (not words or "superlink_outputs_s3.secret" in faults)


@each_row(
    ("endpoint", "words"),
    [
        ("https://192.0.2.7:9000", ""),
        ("HTTP://192.0.2.7:9000", "outputs of runs are sent to 192.0.2.7 in clear text"),
        ("http://s3.storage.svc", ""), ("https://s3.example.com", "in superlink_outputs_s3.egress"),
    ],
)
def test_the_way_to_object_storage(parsed_hub: Any, endpoint: str, words: str) -> None:
    faults, found = said(hub_services.storage(parsed_hub(outputs_s3={"endpoint": endpoint})))
    assert faults == "" and words in found and bool(words) is bool(found) and said(hub_services.storage(parsed_hub())) == ("", "")


ANY = "apps of the hub may connect to any address on port"


@each_row(
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
def test_a_name_opens_the_way_to_every_address(parsed_hub: Any, given: dict[str, Any], words: str, service: bool) -> None:
    faults, found = said(hub_services.tracking(parsed_hub(**given)))
    assert faults == "" and len(found.splitlines()) == bool(words) and words in found and ("write NAME.NAMESPACE.svc" in found) == service
    assert not words or "superlink_tracking.egress" in found


@each_row(
    ("uri", "secret", "credentials", "warned"),
    [
        ("http://192.0.2.7:5000", "mlflow", [], True),
        ("HTTP://192.0.2.7:5000", "", ["token"], True),
        ("http://192.0.2.7:5000", "", [], False),
        ("https://192.0.2.7:5000", "mlflow", [], False),
        ("http://mlflow.mlops.svc:5000", "mlflow", [], False),
    ],
)
def test_credentials_in_clear_text(parsed_hub: Any, uri: str, secret: str, credentials: list[str], warned: bool) -> None:
    keys = {"secret": secret, "token_key": "token"} if secret else {}
    _faults, found = said(hub_services.tracking(parsed_hub(tracking={"uri": uri, **keys}, tracking_credentials=credentials)))
    assert ("192.0.2.7 in clear text" in found and "Use https" in found) == warned == bool(found)


@each_row(
    ("changes", "warned"),
    [
        ({"metrics": METRICS}, True), ({"metrics": METRICS, "monitoring_namespaces": ["monitoring"]}, False),
        ({"metrics": METRICS, "network_policies": False}, False), ({}, False),
    ],
)
def test_metrics_that_nobody_may_read(parsed_hub: Any, changes: dict[str, Any], warned: bool) -> None:
    cluster: Any = None  # is not asked
    faults, found = said(hub_services.metrics(cluster, parsed_hub(**changes)))
    assert faults == "" and ("flower_monitoring_namespaces" in found) == warned == bool(found)


@each_row(
    ("changes", "denied", "fault", "warning"),
    [
        ({}, ["a"], "", ""),
        ({"client_certificates": "none"}, [], "", ""),
        ({"client_certificates": "none"}, ["a", "b"], "superlink_client_certificates: none: the gateway would admit sites that are denied (a, b)", ""),
        ({"insecure": True, "client_certificates": "none"}, ["a"], "flower_insecure: true: the gateway would admit", ""),
        ({"client_certificates": "optional"}, ["a"], "", "superlink_client_certificates is optional: sites that are denied (a)"),
    ],
)
def test_denied_sites_stay_denied(parsed_hub: Any, changes: dict[str, Any], denied: list[str], fault: str, warning: str) -> None:
    for got, wanted in zip(said(hub_services.denials(parsed_hub(**changes), denied)), (fault, warning)):
        assert got.startswith(wanted) and bool(got) is bool(wanted)
    assert hub_services.refused_sites(["left", "known", "new"], {"known"}, ["new"]) == ["known", "new"]
