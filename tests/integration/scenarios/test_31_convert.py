# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values files of Flower's Helm charts become an inventory, which is deployed and trains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

FILES = Path(__file__).parent / "helm"
APP = Path(__file__).parents[3] / "examples" / "quickstart"
SPACE = f"{NAMESPACE}-helm"
COMMON = {"flower_namespace": SPACE, "flower_ca_namespace": f"{SPACE}-ca", "flower_federation": "converted"}


class _Loader(yaml.SafeLoader):
    """Reads what Ansible would not template as text."""


_Loader.add_constructor("!unsafe", lambda loader, node: {"__ansible_unsafe": loader.construct_scalar(node)})


@pytest.fixture
def converted(fed, tmp_path):
    """The hosts that the values files describe, with the fleet's clusters."""
    given = [f"flower_convert_{chart}={FILES / chart}.yaml" for chart in ("superlink", "supernode")]
    arguments = [word for one in (*given, f"flower_convert_directory={tmp_path}") for word in ("-e", one)]
    fed.play("convert", *arguments)
    again = fed.play("convert", *arguments)
    assert again.changed == {"localhost": 0}
    report = json.loads((tmp_path / "convert-report.json").read_text())
    results = {entry["parameter"]: entry["result"] for part in report.values() for entry in part}
    assert set(results.values()) <= {"mapped", "met", "default"}, results

    def variables(group: str) -> dict[str, Any]:
        return yaml.load((tmp_path / "inventory" / "group_vars" / group / "converted.yml").read_text(), _Loader)

    hub = {"flower_context": "hub", "superlink_storage_size": "256Mi", **variables("flower_hub")}
    yield {"hub": hub, "site-a": {"flower_context": "site-a", **variables("flower_sites")}}


def test_values_files_are_deployed_and_train(fed, converted):
    fed.site(converted, **COMMON)
    pods = {(host, pod["metadata"]["name"]): pod for host in converted for pod in fed.cluster(host).list("v1", "Pod", SPACE)}
    superlink, supernode = pods["hub", "superlink-0"], pods["site-a", "supernode-default-1"]
    env = {one["name"]: one.get("value") for pod in pods.values() for box in pod["spec"]["containers"] for one in box.get("env", [])}
    assert {name: env[name] for name in env if name.startswith("HELM_")} == {
        "HELM_EVERYWHERE": "yes", "HELM_SUPERLINK": "1", "HELM_SUPEREXEC": "{{ not a template }}", "HELM_SUPERNODE": "1",
    }  # fmt: skip
    assert superlink["spec"]["securityContext"]["runAsUser"] == 50123
    assert superlink["metadata"]["labels"]["example.com/role"] == "server"
    assert supernode["metadata"]["labels"]["example.com/role"] == "client"
    for pod in (superlink, supernode):
        assert pod["spec"]["nodeSelector"]["kubernetes.io/os"] == "linux"
        assert "/scratch" in [mount["mountPath"] for box in pod["spec"]["containers"] for mount in box["volumeMounts"]]
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}
    run = fed.play("run", "-e", json.dumps(given), hosts=converted, **COMMON)
    assert "completed" in run.messages("hub")
    fed.unchanged(converted, **COMMON)
    fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true", hosts=converted, **COMMON)
