# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A training on a calendar: a CronJob on the hub whose pods submit an app and follow the run (C(programs/schedule_program)).

The account of the pods has the right to run commands in the SuperLink's pod, which data scientists have, and no other. Nothing is restarted:
a pod that is lost may have submitted a run.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from ..base.labels import own_pods
from ..base.object_names import SCHEDULE, SCHEDULE_ANNOTATION, SCHEDULED_APP_ANNOTATION, SUPERLINK_POD
from ..base.plain_data import program_text
from ..base.values import Object, compact
from ..spec.hub_spec import HubSpec
from .common_objects import account_rights, api_object, api_volume, config_map, network_policy, service_account
from .network_policies import api_server_rules, egress_rules
from .pod import config_volume, container_security_context, image, mount, pod_template

SETTINGS, ARCHIVE = "schedule.json", "app.tar.gz"
_LATE = 3600  # seconds after which a time that was missed, as by a cluster that was down, is left out
_RESERVE = 1800  # seconds beside those of the run: for images, a SuperLink that restarts, and the last answer
_RESOURCES = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
_RIGHTS = [
    # A connection by web socket is a get; API servers since 1.35 want create as well.
    {"apiGroups": [""], "resources": ["pods/exec"], "resourceNames": [SUPERLINK_POD], "verbs": ["get", "create"]},
]


def objects(spec: HubSpec, name: str, settings: Mapping[str, Any], archive: bytes, command: list[str]) -> list[Object]:
    """All objects of a schedule.

    Args:
        name: of the schedule.
        settings: C(cron), C(timezone), C(suspend), C(overlap), C(min_supernodes), C(timeout), C(app), C(version), C(run_config) and what the
            program needs to reach Flower's command line (C(connection), C(container)).
        archive: the app, as C(App.archive) returns it.
        command: the one that executes a program in the SuperLink's pod.
    """
    own = f"{SCHEDULE}-{name}"
    reached = {"namespace": spec.namespace, "pod": SUPERLINK_POD, "command": command}
    texts = {
        SETTINGS: json.dumps({**settings, **reached}, sort_keys=True, indent=1) + "\n",
        "schedule.py": program_text("schedule_program.py"),
        "pod_program.py": program_text("pod_program.py"),
    }
    files = {**config_map(spec, own, SCHEDULE, texts), "binaryData": {ARCHIVE: base64.b64encode(archive).decode("ascii")}}
    policy = {
        "podSelector": {"matchLabels": own_pods(spec.federation, SCHEDULE)},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [*egress_rules(spec.dns), *api_server_rules(spec.metrics.api_server)],
    }
    return [
        service_account(spec, own, SCHEDULE),
        *account_rights(spec, own, SCHEDULE, _RIGHTS),
        *([network_policy(spec, own, SCHEDULE, policy)] if spec.network_policies else []),
        files,
        _cron_job(spec, name, settings),
    ]


def _cron_job(spec: HubSpec, name: str, settings: Mapping[str, Any]) -> Object:
    own = f"{SCHEDULE}-{name}"
    container = {
        "name": "schedule",
        "image": image(spec, "superlink", spec.pods.image),
        "imagePullPolicy": spec.image_pull_policy,
        "command": ["python", "-I", "-B", "/program/schedule.py"],
        "resources": _RESOURCES,
        "securityContext": container_security_context(),
        "volumeMounts": [mount("program", "/program"), mount("api", "/api")],
    }
    template = pod_template(
        spec,
        SCHEDULE,
        spec.pods.for_helpers,
        account=own,
        restart="Never",
        containers=[compact(container)],
        volumes=[config_volume("program", own), api_volume(3600)],
        notes={SCHEDULE_ANNOTATION: name},
        grace=5,
    )
    job = {"backoffLimit": 0, "activeDeadlineSeconds": settings["timeout"] + _RESERVE, "template": template}
    body = {
        "schedule": settings["cron"],
        "timeZone": settings["timezone"],
        "suspend": settings["suspend"],
        "concurrencyPolicy": "Forbid" if settings["overlap"] == "skip" else "Allow",
        "startingDeadlineSeconds": _LATE,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": job},
    }
    notes = {SCHEDULED_APP_ANNOTATION: f"{settings['app']} {settings['version']}"}
    return api_object(spec, "batch/v1/CronJob", own, SCHEDULE, {"spec": body}, annotations=notes)
