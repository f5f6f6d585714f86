# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hub: SuperLink behind its gateway, in one pod.

One replica: the open-source SuperLink keeps its state in SQLite. It listens on 127.0.0.1 with its own certificate
(SAN localhost); only the gateway and the command line in the pod reach it, so Control is guarded by Kubernetes' rights
on the pod (exec, port-forward) and by nothing else.
"""

from __future__ import annotations

from ..base.labels import selector
from ..base.object_names import DATABASE_CLAIM, FEDERATION_CONFIG, HEALTH_PORT, SUPERLINK, SUPERLINK_POD, SUPERLINK_PORT
from ..base.values import Object, compact, text
from ..spec.hub_spec import HubSpec
from ..spec.part_spec import merge_env
from . import (
    certificate,
    common_objects,
    exposure,
    gateway,
    metrics_exporter,
    network_policies,
    outputs,
    patches,
    serverapp,
    tracking,
)
from .common_objects import api_object, config_map, disruption_budget, service_account
from .pod import (
    AppParts,
    config_volume,
    container_security_context,
    flower_env,
    grpc_probes,
    image,
    mount,
    past_proxy,
    pod_template,
    scratch_volume,
    secret_volume,
)

NAME = SUPERLINK
CLAIM = DATABASE_CLAIM  # which the StatefulSet controller creates
CLI_CONFIG = "superlink-cli"
CONNECTION = "hub"  # `flwr ... hub` inside the pod

_CLI = f"""\
[superlink]
default = "{CONNECTION}"

[superlink.{CONNECTION}]
address = "localhost:{SUPERLINK_PORT}"
root-certificates = "/internal/ca.crt"
"""


def front_objects(spec: HubSpec) -> list[Object]:
    """Namespace, Services and Ingress or Route, and the owner of the exporter's Secret.

    They come first: an address of a load balancer or router must be known before the certificate is created.
    They are part of C(objects), too.
    """
    front = [*common_objects.namespace_objects(spec), *exposure.objects(spec), *metrics_exporter.front_objects(spec)]
    return patches.apply(front, spec.patches, partial=True)


def objects(spec: HubSpec) -> list[Object]:
    """All objects of the hub, in the order in which they can be applied."""
    rendered = [
        *common_objects.namespace_objects(spec),
        *network_policies.superlink_policies(spec),
        service_account(spec, NAME),
        *exposure.objects(spec),
        *federation_objects(spec),
        *certificate.objects(spec),
        config_map(spec, CLI_CONFIG, NAME, {"config.toml": _CLI}),
        *gateway.config_objects(spec),
        *outputs.objects(spec),
        *tracking.objects(spec),
        stateful_set(spec),
        *serverapp.objects(spec),
        *metrics_exporter.objects(spec),
    ]
    if spec.protect_runs:
        # The pod in which the ServerApp lives: losing that one fails the run. With process isolation the SuperLink pod
        # may go at any time; runs survive its restart.
        holder = serverapp.NAME if spec.is_process else NAME
        rendered.append(disruption_budget(spec, holder, holder, 0))
    return patches.apply(rendered, spec.patches)


def federation_objects(spec: HubSpec) -> list[Object]:
    """What sites need to know of the hub: the ConfigMap C(flower-federation), without secrets.

    Nothing until address and, unless insecure, CA are known. C(ca.crt) is empty if insecure, C(insecure) is "true" or "false".
    """
    if not spec.superlink_address or not (spec.ca_bundle or spec.insecure):
        return []
    data = {
        "address": spec.superlink_address,
        "ca.crt": "" if spec.insecure else spec.ca_bundle,
        "federation": spec.federation,
        "insecure": text(spec.insecure),
        "namespace": spec.namespace,
        "server_name": spec.verified_name,
        "version": spec.version,
    }
    return [config_map(spec, FEDERATION_CONFIG, "superlink", data, "federation")]


def _arguments(spec: HubSpec) -> list[str]:
    """Arguments of flower-superlink."""
    args = [
        "--host", "127.0.0.1",
        "--port", str(SUPERLINK_PORT),
        "--ssl-ca-certfile", "/internal/ca.crt",
        "--ssl-certfile", "/internal/tls.crt",
        "--ssl-keyfile", "/internal/tls.key",
        "--isolation", spec.isolation,
        "--database", "/data/state.db",
        "--health-server-address", f"0.0.0.0:{HEALTH_PORT}",
    ]  # fmt: skip
    if not spec.insecure:
        args.append("--enable-supernode-auth")
    if spec.is_process:
        args += ["--superexec-auth-secret-file", "/superexec/secret"]
    # SuperLink passes this on to the ServerApps it starts itself; with process isolation the SuperExec decides.
    if spec.is_process or not spec.pods.runtime_dependency_installation:
        args.append("--disable-runtime-dependency-installation")
    return args + spec.pods.extra_args


def superlink_container(spec: HubSpec) -> Object:
    """The container C(superlink). With subprocess isolation ServerApps compute in it."""
    parts = AppParts() if spec.is_process else serverapp.app_parts(spec)
    mounts = [
        mount("data", "/data", read_only=False),
        mount("internal", "/internal"),
        # The command line writes beside its configuration, so the directory is scratch and the file comes by subPath.
        mount("sl-home", "/flwr", read_only=False),
        mount("cli", "/flwr/config.toml", sub_path="config.toml"),
        mount("gw-run", "/run/gw", read_only=False),
        *([mount("superexec", "/superexec")] if spec.is_process else []),
    ]
    # The command line calls the SuperLink, and the ServerApps that it starts do.
    peers = ["https://localhost", *([] if spec.is_process else ["https://127.0.0.1"])]
    return compact(
        {
            "name": NAME,
            "image": image(spec, "superlink", spec.pods.image),
            "imagePullPolicy": spec.image_pull_policy,
            **({} if spec.is_process else outputs.command(spec, "flower-superlink")),
            "args": _arguments(spec),
            "lifecycle": spec.pods.lifecycle,
            "env": past_proxy(merge_env(flower_env(spec, "/flwr"), parts.env, spec.pods.env), *peers),
            "resources": spec.pods.resources,
            "securityContext": container_security_context(),
            **grpc_probes(HEALTH_PORT, failures=6),
            "readinessProbe": {"grpc": {"port": HEALTH_PORT}, "periodSeconds": 2, "timeoutSeconds": 2},
            "volumeMounts": mounts + parts.mounts + spec.pods.volume_mounts,
        }
    )


def stateful_set(spec: HubSpec) -> Object:
    """The SuperLink StatefulSet: one replica, its database on a volume that outlives it."""
    gateway_container, gateway_volumes = gateway.pod_parts(spec)
    volumes = [
        secret_volume("internal", "superlink-internal"),
        config_volume("cli", CLI_CONFIG),
        scratch_volume("sl-home"),
        *gateway_volumes,
        *([secret_volume("superexec", "superlink-superexec")] if spec.is_process else serverapp.app_parts(spec).volumes),
        *spec.pods.volumes,
    ]
    containers = [superlink_container(spec), gateway_container, *([] if spec.is_process else outputs.readers(spec))]
    # An identity that may read this pod learns from it whether there are outputs, and needs no right to look for them.
    notes = {outputs.PLACE: serverapp.POD if spec.is_process else SUPERLINK_POD} if spec.outputs_enabled else {}
    claim = {
        "accessModes": [spec.storage_access_mode],
        "resources": {"requests": {"storage": spec.created_storage_size or spec.storage_size}},
        "storageClassName": spec.storage_class,
    }
    body = {
        "replicas": 1,
        "serviceName": NAME,
        "selector": {"matchLabels": selector(spec.federation, NAME)},
        "updateStrategy": {"type": "RollingUpdate"},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "template": pod_template(spec, NAME, spec.pods, containers=containers, volumes=volumes, notes=notes),
        # No version label: claim templates can't be changed, an upgrade would be refused.
        "volumeClaimTemplates": [{"metadata": {"name": "data", "labels": selector(spec.federation, NAME)}, "spec": compact(claim)}],
    }
    return api_object(spec, "apps/v1/StatefulSet", NAME, NAME, {"spec": body})
