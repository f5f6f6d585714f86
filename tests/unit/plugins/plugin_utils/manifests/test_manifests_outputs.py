# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The volume for outputs: where it is mounted, and who reads it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply.applyset import is_member_kind
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import superlink_faults


def found(objects, kind, name):
    return [one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name)]


def pod_of(objects, kind, name):
    (workload,) = found(objects, kind, name)
    pod = workload["spec"]["template"]["spec"]
    return {one["name"]: one for one in pod["containers"]}, {one["name"]: one for one in pod["volumes"]}


def paths(container):
    return {one["mountPath"] for one in container.get("volumeMounts", [])}


@pytest.mark.parametrize(
    ("isolation", "workload", "computes", "starts"),
    [("process", "serverapp", "superexec", "flower-superexec"), ("subprocess", "superlink", "superlink", "flower-superlink")],
)
def test_serverapps_are_started_in_the_folder_of_their_outputs(superlink_spec, tmp_path, isolation, workload, computes, starts):
    objects = specs.superlink_objects(superlink_spec(isolation=isolation))
    containers, volumes = pod_of(objects, "StatefulSet", workload)
    source = volumes["superlink-serverapp"]["configMap"]
    (config,) = found(objects, "ConfigMap", source["name"])
    assert set(config["data"]) == {"flwr-serverapp"} and config["data"]["flwr-serverapp"].startswith("#!/usr/bin/env python3\n")
    assert source["defaultMode"] == 0o555 and "/serverapp" in paths(containers[computes])
    assert not [name for name, one in containers.items() if name != computes and "/serverapp" in paths(one)]
    # The program of the image is started with the arguments, and finds the folder first in PATH.
    program = tmp_path / starts
    program.write_text('#!/bin/sh\necho "$PATH" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    command = [*containers[computes]["command"], "--one", "two words"]
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == f"/serverapp:{path} --one two words\n"


def test_the_reader_sleeps_until_it_is_told_to_stop(superlink_spec):
    containers, _volumes = pod_of(specs.superlink_objects(superlink_spec()), "StatefulSet", "serverapp")
    command = [sys.executable, *containers["outputs"]["command"][1:]]
    for number in (signal.SIGTERM, signal.SIGINT):
        with subprocess.Popen(command) as process:
            try:
                # Process 1 of a container gets no signal that it does not wait for.
                deadline = time.monotonic() + 60
                while "sigtimedwait" not in Path(f"/proc/{process.pid}/wchan").read_text("utf-8"):
                    assert process.poll() is None and time.monotonic() < deadline
                    time.sleep(0.05)
                process.send_signal(number)
                assert process.wait(60) == 0
            finally:
                process.kill()


def test_a_claim_is_never_pruned():
    assert not is_member_kind("", "PersistentVolumeClaim")


@each_row(
    ("changes", "words"),
    [
        ({"outputs_size": "ten"}, "outputs_size: 'ten' is not a quantity"),
        ({"outputs_size": "0"}, "outputs_size: '0' leaves no space; set outputs_enabled to false"),
        ({"outputs_min_free": "-1Gi"}, "outputs_min_free: '-1Gi' is not a quantity"),
        ({"outputs_size": "1Gi", "outputs_min_free": "1024Mi"}, "is not below outputs_size (1Gi)"),
        ({"outputs_claim": "No_Name"}, "outputs_claim: 'No_Name'"),
        ({"outputs_claim": "models", "outputs_storage_class": "fast"}, "has no effect on an existing claim"),
        ({"outputs_enabled": False, "outputs_claim": "models"}, "has no effect: outputs_enabled is false"),
        ({"outputs_resources": {"limit": {}}}, "is neither requests nor limits"),
        ({"serverapp_volumes": [{"name": "flower-outputs", "emptyDir": {}}]}, "flower-outputs"),
        (
            {
                "serverapp_volumes": [{"name": "mine", "emptyDir": {}}],
                "serverapp_volume_mounts": [{"name": "mine", "mountPath": "/outputs"}],
            },
            "/outputs",
        ),
    ],
)
def test_faults(superlink_spec, changes, words):
    (fault,) = superlink_faults(superlink_spec(**changes))
    assert words in fault and "superlink_" in fault


def test_no_faults(superlink_spec):
    for changes in ({}, {"outputs_claim": "models", "outputs_min_free": "20Gi"}, {"outputs_min_free": 0}):
        assert superlink_faults(superlink_spec(**changes)) == []
