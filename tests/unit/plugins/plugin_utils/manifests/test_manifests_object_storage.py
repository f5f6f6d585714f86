# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Object storage for outputs: its container alone has the credentials, policies let its pod connect, and wrong variables are named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.specs import CA, superlink_faults

OWN = {"endpoint": "https://192.0.2.8:9000", "bucket": "models", "secret": "models-key"}


def pod(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (workload,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == ("StatefulSet", name)]
    found: dict[str, Any] = workload["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("isolation", ["process", "subprocess"])
def test_one_container_has_the_credentials(superlink_spec: Any, isolation: str) -> None:
    objects = specs.superlink_objects(superlink_spec(outputs_s3={**OWN, "ca": CA}, isolation=isolation))
    own = pod(objects, "serverapp" if isolation == "process" else "superlink")
    (container,) = [one for one in own["containers"] if one["name"] == "outputs-s3"]
    env = {one["name"]: one.get("value") or one["valueFrom"] for one in container["env"]}
    assert env["FLOWER_OUTPUTS_S3"] == "s3://models/flower" and env["RCLONE_CONFIG_S3_ENDPOINT"] == OWN["endpoint"]
    assert env["RCLONE_CONFIG_S3_SECRET_ACCESS_KEY"] == {"secretKeyRef": {"name": "models-key", "key": "AWS_SECRET_ACCESS_KEY"}}
    assert [one["mountPath"] for one in container["volumeMounts"]] == ["/outputs", "/s3-ca"] and env["RCLONE_CA_CERT"] == "/s3-ca/ca.crt"
    others = [one for one in objects if one["kind"] in ("StatefulSet", "Deployment")]
    assert json.dumps(others).count("models-key") == 2, "id and secret of one container"
    (policy,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == ("NetworkPolicy", "serverapp" if isolation == "process" else "superlink")]
    assert {"to": [{"ipBlock": {"cidr": "192.0.2.8/32"}}], "ports": [{"port": 9000, "protocol": "TCP"}]} in policy["spec"]["egress"]


def test_nothing_changes_without_it(superlink_spec: Any) -> None:
    assert specs.superlink_objects(superlink_spec(outputs_s3={})) == specs.superlink_objects(superlink_spec())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"endpoint": "s3.example.com"}, "outputs_s3.endpoint: 's3.example.com' is not a URI like \"https://s3."),
        ({"endpoint": "https://jane:hunter2@x"}, "contains credentials, and is shown in the cluster; credentials are in a Secret"),
        ({"endpoint": "https://s3.example.com/models"}, "has a path; the name of the bucket is in outputs_s3.bucket"),
        ({"endpoint": ""}, "outputs_s3.endpoint: '' is not set; set it, or remove the rest"),
        ({"bucket": ""}, "outputs_s3.bucket: '' is not set"),
        ({"bucket": "My_Models"}, "outputs_s3.bucket: 'My_Models' is not the name of a bucket"),
        ({"prefix": "/models/"}, "outputs_s3.prefix: '/models/' is not a prefix like"),
        ({"prefix": "a/../b"}, "outputs_s3.prefix: 'a/../b' is not a prefix like"),
        ({"region": "eu central"}, "outputs_s3.region: 'eu central' is not the name of a region"),
        ({"secret": None}, "outputs_s3.secret: None is not set"),
        ({"secret": "X"}, "outputs_s3.secret: 'X' is not a DNS name"),
        ({"ca": "no"}, "outputs_s3.ca: 'no' is not a PEM certificate"),
        ({"ca": CA, "endpoint": "http://192.0.2.8"}, "has no effect on a server without TLS"),
        ({"image": "a b"}, "outputs_s3.image: 'a b'"),
        ({"egress": [{"ports": ["1"]}]}, "outputs_s3.egress[0]"),
        ({"resources": {"requests": {"cpu": "much"}}}, "outputs_s3.resources"),
        ({"user": "x"}, "superlink_outputs_s3"),
    ],
)
def test_faults(superlink_spec: Any, changes: dict[str, Any], words: str) -> None:
    found = superlink_faults(superlink_spec(outputs_s3={**OWN, **changes}))
    assert len(found) == 1 and found[0].startswith("hub: superlink_outputs_s3") and words in found[0] and "hunter2" not in found[0]


def test_it_needs_the_volume_for_outputs(superlink_spec: Any) -> None:
    (fault,) = superlink_faults(superlink_spec(outputs_s3=OWN, outputs_enabled=False))
    assert "superlink_outputs_s3.endpoint" in fault and "has no effect: outputs_enabled is false" in fault
    assert superlink_faults(superlink_spec(outputs_s3={})) == superlink_faults(superlink_spec(outputs_s3=OWN)) == []
