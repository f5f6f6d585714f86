# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tracking server: environment and CA where the ServerApp computes, and the way to it."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import CA, superlink_faults

URI = "https://mlflow.example.com"


def container(objects, kind, name, which):
    (workload,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    (found,) = [one for one in workload["spec"]["template"]["spec"]["containers"] if one["name"] == which]
    return found


def egress(objects, name="serverapp"):
    (policy,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == ("NetworkPolicy", name)]
    return policy["spec"]["egress"]


def env(one):
    return {
        each["name"]: each.get("value") or each["valueFrom"] for each in one["env"] if each["name"].startswith("MLFLOW")
    }


def test_credentials_from_variables_are_in_the_secret_of_the_role(superlink_spec):
    spec = superlink_spec(tracking={"uri": URI}, tracking_credentials=["password", "username"])
    found = env(container(specs.superlink_objects(spec), "StatefulSet", "serverapp", "superexec"))
    assert found["MLFLOW_TRACKING_PASSWORD"] == {"secretKeyRef": {"name": "superlink-tracking", "key": "password"}}
    assert found["MLFLOW_TRACKING_USERNAME"] == {"secretKeyRef": {"name": "superlink-tracking", "key": "username"}}
    assert "MLFLOW_TRACKING_TOKEN" not in found


@each_row(
    ("tracking", "rule"),
    [
        ({"uri": "http://192.0.2.7:5000/x"}, {"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}], "ports": 5000}),
        ({"uri": "https://[2001:db8::1]"}, {"to": [{"ipBlock": {"cidr": "2001:db8::1/128"}}], "ports": 443}),
        ({"uri": URI}, {"ports": 443}),
        ({"uri": "http://mlflow.example.com:8080"}, {"ports": 8080}),
        (
            {"uri": "http://mlflow.mlops.svc:80"},
            {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "mlops"}}}]},
        ),
        (
            {"uri": "http://mlflow.mlops.svc.cluster.local"},
            {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "mlops"}}}]},
        ),
        ({"uri": "http://mlflow.prod.svc.hospital.example"}, {"ports": 80}),
        ({"uri": "http://mlflow.mlops:5000"}, {"ports": 5000}),
        (
            {"uri": URI, "egress": [{"cidr": "192.0.2.0/24", "ports": ["443"]}]},
            {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": 443},
        ),
    ],
)
def test_the_way_to_it(superlink_spec, tracking, rule):
    if "ports" in rule:
        rule = {**rule, "ports": [{"port": rule["ports"], "protocol": "TCP"}]}
    before = egress(specs.superlink_objects(superlink_spec()))
    objects = specs.superlink_objects(superlink_spec(tracking=tracking))
    assert egress(objects) == [*before, rule]
    assert rule not in egress(objects, "superlink")
    assert rule in egress(
        specs.superlink_objects(superlink_spec(isolation="subprocess", tracking=tracking)), "superlink"
    )


@each_row(
    ("changes", "words"),
    [
        ({"tracking": "https://x"}, "superlink_tracking: a value of the type str (not shown) is not a mapping"),
        ({"tracking": {"uri": "mlflow.example.com:5000"}}, "is not a URI like"),
        ({"tracking": {"uri": "ftp://mlflow.example.com"}}, "is not a URI like"),
        ({"tracking": {"uri": "https://"}}, "is not a URI like"),
        ({"tracking": {"uri": "https://a b/"}}, "is not a URI like"),
        ({"tracking": {"uri": "https://x:99999"}}, "is not a URI: Port out of range"),
        ({"tracking": {"uri": "https://[::1"}}, "is not a URI"),
        ({"tracking": {"uri": "https://x:0"}}, "has the port 0"),
        ({"tracking": {"uri": "https://under_score.example.com"}}, "is not a DNS name"),
        ({"tracking": {"uri": f"{URI}?x=1"}}, "has a query or fragment"),
        ({"tracking": {"secret": "x"}}, "superlink_tracking.uri: None is not set"),
        ({"tracking_credentials": ["token"]}, "superlink_tracking.uri: None is not set"),
        ({"tracking": {"uri": URI, "secret": "x"}}, "needs the names of its entries"),
        ({"tracking": {"uri": URI, "secret": "x", "username_key": "u"}}, "needs the names of its entries"),
        (
            {"tracking": {"uri": URI, "secret": "X", "token_key": "t"}},
            "superlink_tracking.secret: 'X' is not a DNS name",
        ),
        ({"tracking": {"uri": URI, "token_key": "t"}}, "superlink_tracking.token_key: 't' has no effect without"),
        (
            {"tracking": {"uri": URI}, "tracking_credentials": ["username"]},
            "are neither a token nor username and password",
        ),
        ({"tracking": {"uri": URI}, "tracking_credentials": ["token", "username"]}, "are neither a token nor"),
        (
            {"tracking": {"uri": URI, "secret": "x", "token_key": "t"}, "tracking_credentials": ["token"]},
            "and superlink_tracking_credentials as well",
        ),
        ({"tracking": {"uri": "http://x.example.com", "ca": CA}}, "has no effect on a server without TLS"),
        ({"tracking": {"uri": URI, "ca": "no"}}, "superlink_tracking.ca: 'no' is not a PEM certificate"),
        ({"tracking": {"uri": URI, "egress": [{"ports": ["1"]}]}}, "superlink_tracking.egress[0]"),
        (
            {
                "tracking": {"uri": URI, "ca": CA},
                "serverapp_volumes": [{"name": "superlink-tracking-ca", "emptyDir": {}}],
            },
            "exists already; use another name",
        ),
    ],
)
def test_faults(superlink_spec, changes, words):
    found = superlink_faults(superlink_spec(**changes))
    assert len(found) == 1 and found[0].startswith("hub: superlink_") and words in found[0]


@pytest.mark.parametrize(
    "tracking", [{"uri": "https://jane:hunter2@mlflow.example.com"}, {"uri": URI, "password": "hunter2"}]
)
def test_credentials_in_the_wrong_place_are_not_shown(superlink_spec, tracking):
    (fault,) = superlink_faults(superlink_spec(tracking=tracking))
    assert "superlink_tracking" in fault and "hunter2" not in fault
