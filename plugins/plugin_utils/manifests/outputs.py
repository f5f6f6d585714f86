# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The place for what ServerApps make: a claim on the hub, mounted where they compute, and a container that reads it.

One rule for paths: the outputs of the run C(ID) are the folder C(/outputs/ID), in which its ServerApp works. It finds C(/outputs) in
C(FLOWER_OUTPUTS_DIR), and the number of its run in C(context.run_id). What is sent for runs is in C(/outputs/inputs).

SuperExec starts C(flwr-serverapp) by its name, without an option for a working directory: C(programs/serverapp_program) stands before it in PATH. The
image's own PATH is not known here, so a shell extends it, and replaces itself with the program that the image would start.

The reader is in the pod of the ServerApp, because a ReadWriteOnce volume is on one node at a time. It has an image without app code, the
claim, and nothing else: no secrets, no scratch folder. It only sleeps; the control node starts programs in it (C(programs/outputs_program)).
Where outputs are uploaded to object storage, a container beside it does that (C(object_storage)).
"""

from __future__ import annotations

from ..base.object_names import OUTPUTS_POD_ANNOTATION, OUTPUTS_READER, OUTPUTS_ROOT
from ..base.plain_data import program_text
from ..base.values import Object, compact
from ..programs import serverapp_program
from ..spec.hub_spec import HubSpec
from . import object_storage
from .common_objects import api_object, config_map
from .pod import AppParts, config_volume, container_security_context, image, mount

VOLUME = "flower-outputs"
ROOT = OUTPUTS_ROOT
CLAIM = "superlink-outputs"
STARTER, STARTER_ROOT = "superlink-serverapp", "/serverapp"  # ConfigMap and volume, and where it is mounted
PLACE = OUTPUTS_POD_ANNOTATION  # annotation of the SuperLink's pod: the pod with the reader
_ENV: Object = {"name": "FLOWER_OUTPUTS_DIR", "value": ROOT}
_APPLICATION, _COMPONENT = "superlink", "outputs"

# As PID 1 it gets no signal that it does not wait for.
_SLEEP = "import signal as s; stop = {s.SIGTERM, s.SIGINT}; s.pthread_sigmask(s.SIG_BLOCK, stop); s.sigwait(stop)"


def start_program() -> str:
    """What SuperExec finds first under the name of Flower's program."""
    return f"#!/usr/bin/env python3\n{program_text('serverapp_program.py')}"


def objects(spec: HubSpec) -> list[Object]:
    """The program that starts ServerApps, and the claim, unless it is someone else's."""
    if not spec.outputs_enabled:
        return []
    program = {serverapp_program.NAME: start_program()}
    body = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": spec.outputs_size}},
        "storageClassName": spec.outputs_storage_class,
    }
    claim = api_object(spec, "v1/PersistentVolumeClaim", CLAIM, _APPLICATION, {"spec": compact(body)}, _COMPONENT)
    return [config_map(spec, STARTER, _APPLICATION, program, _COMPONENT), *([] if spec.outputs_claim else [claim]), *object_storage.objects(spec)]


def command(spec: HubSpec, entrypoint: str) -> Object:
    """The field C(command) of the container that computes, in which the image would start C(entrypoint)."""
    return {"command": ["sh", "-c", f'PATH="{STARTER_ROOT}:$PATH" exec "$0" "$@"', entrypoint]} if spec.outputs_enabled else {}


def claim_name(spec: HubSpec) -> str:
    """Name of the claim; empty where there are no outputs."""
    return (spec.outputs_claim or CLAIM) if spec.outputs_enabled else ""


def app_parts(spec: HubSpec) -> AppParts:
    """What outputs add to the container that computes."""
    if not spec.outputs_enabled:
        return AppParts()
    starter = config_volume(STARTER, STARTER)
    starter["configMap"]["defaultMode"] = 0o555
    return AppParts(
        env=[_ENV],
        mounts=[mount(VOLUME, ROOT, read_only=False), mount(STARTER, STARTER_ROOT)],
        volumes=[{"name": VOLUME, "persistentVolumeClaim": {"claimName": claim_name(spec)}}, starter, *object_storage.volumes(spec)],
    )


def readers(spec: HubSpec) -> list[Object]:
    """The container that reads and deletes outputs and takes inputs, of the same pod, and the one that uploads them."""
    if not spec.outputs_enabled:
        return []
    # With less room than that, it lets no run be submitted.
    floor = {"name": "FLOWER_OUTPUTS_MIN_FREE", "value": spec.outputs_min_free}
    reader = {
        "name": OUTPUTS_READER,
        # Never the image of the ServerApp: that is the users', and this one has to be trusted.
        "image": image(spec, "superlink", spec.pods.image),
        "imagePullPolicy": spec.image_pull_policy,
        "command": ["python", "-I", "-c", _SLEEP],
        "env": [_ENV, floor],
        "resources": spec.outputs_resources,
        "securityContext": container_security_context(),
        "volumeMounts": [mount(VOLUME, ROOT, read_only=False)],
    }
    return [compact(reader), *object_storage.containers(spec, VOLUME)]
