# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container that uploads outputs of runs to S3-compatible storage, and copies inputs from it: rclone beside the reader of outputs.

It has the claim for outputs and the credentials, which no other container has: apps do not get them. It only sleeps; the control node starts rclone
in it (C(flower/object_storage)). The remote C(s3) is in its environment, so that no argument of a process and no file has a credential.
"""

from __future__ import annotations

from ..base.object_names import OUTPUTS_ROOT, OUTPUTS_S3, OUTPUTS_S3_PLACE
from ..base.values import Object, compact
from ..spec.hub_spec import HubSpec
from .common_objects import config_map
from .pod import config_volume, container_security_context, image, mount

CA_CONFIG = VOLUME = "superlink-outputs-s3-ca"
_ROOT, _CA_FILE = "/s3-ca", "ca.crt"
# As PID 1 a shell gets no signal that it does not wait for.
_SLEEP = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"


def objects(spec: HubSpec) -> list[Object]:
    """The ConfigMap with the CA."""
    own = spec.outputs_s3
    return [config_map(spec, CA_CONFIG, "superlink", {_CA_FILE: own.ca}, "outputs")] if own.endpoint and own.ca else []


def volumes(spec: HubSpec) -> list[Object]:
    """The volume with the CA."""
    return [config_volume(VOLUME, CA_CONFIG)] if objects(spec) else []


def containers(spec: HubSpec, outputs_volume: str) -> list[Object]:
    """The container with rclone; none without object storage."""
    own = spec.outputs_s3
    if not own.endpoint:
        return []
    remote = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": own.endpoint, "REGION": own.region, "NO_CHECK_BUCKET": "true"}
    keys = {"ACCESS_KEY_ID": own.id_key, "SECRET_ACCESS_KEY": own.secret_key}
    env: list[Object] = [
        {"name": OUTPUTS_S3_PLACE, "value": f"s3://{own.bucket}/{own.prefix or spec.federation}"},
        {"name": "RCLONE_CONFIG", "value": "/dev/null"},
        *({"name": f"RCLONE_CONFIG_S3_{name}", "value": value} for name, value in remote.items()),
        *({"name": f"RCLONE_CONFIG_S3_{name}", "valueFrom": {"secretKeyRef": {"name": own.secret, "key": key}}} for name, key in keys.items()),
    ]
    mounts = [mount(outputs_volume, OUTPUTS_ROOT, read_only=False)]
    if own.ca:
        env.append({"name": "RCLONE_CA_CERT", "value": f"{_ROOT}/{_CA_FILE}"})
        mounts.append(mount(VOLUME, _ROOT))
    container = {
        "name": OUTPUTS_S3,
        "image": image(spec, "rclone", own.image),
        "imagePullPolicy": spec.image_pull_policy,
        "command": ["sh", "-c", _SLEEP],
        "env": env,
        "resources": own.resources,
        "securityContext": container_security_context(),
        "volumeMounts": mounts,
    }
    return [compact(container)]
