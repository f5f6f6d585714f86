# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of the federation: a pod with C(programs/metrics_program) in the SuperLink's image, and what the Prometheus operator needs to know of it.

The pod gets its answers through a port of the gateway that passes two reading calls (manifests/gateway.py), with the shared secret in the
Secret C(superlink-metrics). Its account may read the ConfigMaps of the hub's namespace and nothing else: no Secret, no pod.

That Secret belongs to the ConfigMap with the program: when that is pruned, the API server deletes the Secret, and the controller needs no
right to delete Secrets.
"""

from __future__ import annotations

import copy
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ..base.labels import own_pods, selector
from ..base.names import METRICS, METRICS_CONTROL
from ..base.object_names import METRICS_CONTROL_PORT, METRICS_PORT
from ..base.plain_data import program_text
from ..base.values import Object, compact
from ..programs import metrics_program
from ..spec.hub_spec import HubSpec
from ..spec.pods_spec import PodsSpec
from .common_objects import account_rights, api_object, api_volume, config_map, service, service_account
from .pod import config_volume, container_security_context, image, mount, pod_template, scratch_volume, secret_volume

NAME = METRICS
OPERATOR = "monitoring.coreos.com/v1"
MONITOR, RULES = "PodMonitor", "PrometheusRule"
PROGRAM, SERVER, LOGS = "exporter.py", "metrics_http.py", "run_metrics.py"
# The alert rules in the format of Prometheus' rule files.
ALERTS = Path(__file__).resolve().parents[3] / "roles" / "superlink" / "files" / "metrics" / "alerts.yml"
ALLOWED = "observability-metrics-custom-allowlist"
# Metrics of HAProxy's own exporter (2.6) that alerts and dashboards use.
GATEWAY = (
    "haproxy_frontend_bytes_in_total",
    "haproxy_frontend_bytes_out_total",
    "haproxy_frontend_current_sessions",
    "haproxy_frontend_http_responses_total",
    "haproxy_frontend_limit_sessions",
    "haproxy_frontend_requests_denied_total",
)
_ABSENT = re.compile(r"\babsent\((\w+)\)")
_DIGEST = "federated.flower/program"  # annotation: pods do not notice that a file changed that Python has read


def front_objects(spec: HubSpec) -> list[Object]:
    """The ConfigMap with the program. It exists before the Secret that belongs to it."""
    if not spec.metrics.enabled:
        return []
    return [config_map(spec, NAME, NAME, _files(spec))]


def objects(spec: HubSpec) -> list[Object]:
    """Everything of the exporter but its Secret and network policy; nothing where it is off."""
    if not spec.metrics.enabled:
        return []
    port = {"name": "metrics", "port": METRICS_PORT, "protocol": "TCP", "targetPort": "metrics"}
    found = [
        *front_objects(spec),
        service_account(spec, NAME),
        # The names of the ledger's ConfigMaps are not known before sites join, and list cannot be limited to names.
        *account_rights(spec, NAME, NAME, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]),
        service(spec, NAME, NAME, {"type": "ClusterIP", "selector": own_pods(spec.federation, NAME), "ports": [port]}),
        _deployment(spec),
    ]
    if spec.metrics.has_monitor:
        found += _monitoring(spec)
        found += [_allowed(spec)] if spec.metrics.acm else []
    return found


def _deployment(spec: HubSpec) -> Object:
    own = spec.metrics
    env = {
        "FLOWER_CONTROL": f"{METRICS_CONTROL}:{METRICS_CONTROL_PORT}",
        "FLOWER_FEDERATION": spec.federation,
        "FLOWER_GATEWAY_NAME": "" if spec.insecure else spec.verified_name,
        "FLOWER_NAMESPACE": spec.namespace,
        "FLOWER_PORT": str(METRICS_PORT),
        # flwr writes there when it is imported.
        "FLWR_HOME": "/tmp/flwr",
        "FLWR_TELEMETRY_ENABLED": "0",
        "HOME": "/tmp",
        **({"FLOWER_RUN_METRICS": "1"} if own.runs else {}),
    }
    probe = {"tcpSocket": {"port": "metrics"}}
    exporter = compact(
        {
            "name": "exporter",
            "image": image(spec, "superlink", own.image or spec.pods.image),
            "imagePullPolicy": spec.image_pull_policy,
            "command": ["python", "-I", "-B", f"/program/{PROGRAM}"],
            "env": [{"name": name, "value": value} for name, value in env.items()],
            "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
            "resources": own.resources,
            "securityContext": container_security_context(),
            "startupProbe": {**probe, "periodSeconds": 1, "failureThreshold": 60},
            "livenessProbe": {**probe, "periodSeconds": 20},
            "readinessProbe": {**probe, "periodSeconds": 5},
            "volumeMounts": [
                mount("program", "/program"),
                mount("hub", "/hub"),
                mount("api", "/api"),
                mount("tmp", "/tmp", read_only=False),
            ],
        }
    )
    # On the nodes of the hub, but none of its labels, volumes and requests.
    pods = PodsSpec(node_selector=spec.pods.node_selector, tolerations=spec.pods.tolerations)
    template = pod_template(
        spec,
        NAME,
        pods,
        containers=[exporter],
        volumes=[
            config_volume("program", NAME),
            secret_volume("hub", NAME, keys=["ca.crt", "token"]),
            api_volume(3600),
            scratch_volume("tmp", size="16Mi"),
        ],
        notes={_DIGEST: hashlib.sha256("".join(_files(spec).values()).encode()).hexdigest()[:16]},
        grace=1,  # it has nothing that a sudden end could damage
    )
    body = {"replicas": 1, "selector": {"matchLabels": selector(spec.federation, NAME)}, "template": template}
    return api_object(spec, "apps/v1/Deployment", NAME, NAME, {"spec": body})


def _monitoring(spec: HubSpec) -> list[Object]:
    """Objects of the Prometheus operator. The PodMonitor is for the exporter and for the gateway's own metrics."""
    names = {"key": "app.kubernetes.io/name", "operator": "In", "values": ["superlink", NAME]}
    monitor = {
        "selector": {"matchLabels": {"app.kubernetes.io/instance": spec.federation}, "matchExpressions": [names]},
        "podMetricsEndpoints": [{"port": port, "path": "/metrics"} for port in ("metrics", "ops")],
    }
    listed = ((MONITOR, monitor), (RULES, alerts(spec.namespace)))
    return [api_object(spec, f"{OPERATOR}/{kind}", NAME, NAME, {"spec": body}) for kind, body in listed]


def _allowed(spec: HubSpec) -> Object:
    """What the collector of Advanced Cluster Management takes from the Prometheus for user workloads of this cluster (its
    C(multicluster-observability-operator), C(pkg/config): name of the ConfigMap in the namespace of the workload, and key)."""
    names = [*metrics_program.METRICS, *GATEWAY]
    return config_map(spec, ALLOWED, NAME, {"uwl_metrics_list.yaml": yaml.safe_dump({"names": sorted(names)}, sort_keys=False)})


def _files(spec: HubSpec) -> dict[str, str]:
    """The program, its server, and where it reads logs what it reads them with."""
    beside = [SERVER, *([LOGS] if spec.metrics.runs else [])]
    return {PROGRAM: program_text("metrics_program.py"), **{name: program_text(name) for name in beside}}


def alerts(namespace: str) -> dict[str, Any]:
    """The alert rules: C(groups) as in a rule file.

    Args:
        namespace: of the hub. Metrics that are missing have no labels, so C(absent) says whose they are: those of another federation
            would keep the alert silent.
    """
    found = copy.deepcopy(_alerts())
    for rule in (rule for group in found["groups"] for rule in group["rules"]):
        rule["expr"] = _ABSENT.sub(rf'absent(\1{{namespace="{namespace}"}})', rule["expr"])
    return found


@cache
def _alerts() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    return found
