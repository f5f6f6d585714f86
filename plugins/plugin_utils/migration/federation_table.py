# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of each field of flower-operator's resource Federation: the one table, which the filter uses and docs/converted_parameters.md has.

The fields are those of C(flwr.exalsius.ai/v1) at commit C(bc0c510) of exalsius/flower-operator.
"""

from __future__ import annotations

from typing import Any

from .conversion import REFUSED, VARIABLE, Row


def _to(name: str, *variables: str, how: str = "copy", default: Any = None, why: str = "", path: tuple[str, ...] = (), process: bool = False) -> Row:
    return Row(name, default, VARIABLE, variables, how, path=path, why=why, process=process)


def _refused(name: str, why: str, default: Any = None) -> Row:
    return Row(name, default, REFUSED, why=why)


_CLAIMS = "create a PersistentVolumeClaim, and name it in {}; the operator's claims are kept as they are"
_DROPPED = "the operator ignores it"
_ACCOUNT = "each part has its own service account, without rights"
_HOST = "Pod Security restricted: pods do not share namespaces of their node"
_SHARED = "pods share no process namespace"
_PORTS = "only the port for SuperNodes is published, through the gateway"
_TOKEN = "pods get no service account token"

# Fields of a pod template's spec that become a variable, and the ending of its name.
_PODS = (
    ("nodeSelector", "node_selector"), ("affinity", "affinity"), ("tolerations", "tolerations"), ("priorityClassName", "priority_class"),
)  # fmt: skip
_PATCHED = ("securityContext", "dnsPolicy", "dnsConfig", "hostAliases", "schedulerName")


def _template(prefix: str, variables: dict[str, tuple[str, ...]], *, pool: bool) -> list[Row]:
    """Rows of a podTemplate."""
    spec = f"{prefix}.podTemplate.spec"
    rows = [_to(f"{spec}.{name}", *variables[ending]) for name, ending in _PODS]
    rows += [_to(f"{spec}.{name}", *variables["pod_template"], how="template", path=(name,)) for name in _PATCHED]
    rows += [
        _to(f"{prefix}.podTemplate.metadata.labels", *variables["pod_labels"], why=_DROPPED),
        _to(f"{prefix}.podTemplate.metadata.annotations", *variables["pod_annotations"], why=_DROPPED),
        _to(f"{spec}.volumes", *variables["volumes"], how="volumes"),
        _to(f"{spec}.imagePullSecrets", "supernode_image_pull_secrets" if pool else "superlink_image_pull_secrets", how="pull_secrets"),
        _refused(f"{spec}.serviceAccountName", _ACCOUNT),
        *(_refused(f"{spec}.{name}", _HOST) for name in ("hostNetwork", "hostPID", "hostIPC")),
        _refused(f"{spec}.shareProcessNamespace", _SHARED),
        _refused(f"{spec}.automountServiceAccountToken", _TOKEN),
        *(_refused(f"{spec}.{name}", f"{_DROPPED}, and so does the collection") for name in ("hostname", "readinessGates")),
        *(
            _to(f"{spec}.{name}", *variables[ending], how="containers", default=[], why=_DROPPED)
            for name, ending in (("containers", "extra_containers"), ("initContainers", "init_containers"))
        ),
    ]
    if pool:
        rows += [
            _to(f"{spec}.runtimeClassName", "gpu", how="runtime_class", why="without a GPU, pod_template"),
            _to(f"{spec}.topologySpreadConstraints", "topology_spread_constraints", why=_DROPPED),
            _to(f"{spec}.terminationGracePeriodSeconds", "termination_grace_period", why=_DROPPED),
        ]
    else:
        rows += [
            _to(f"{spec}.{name}", *variables["pod_template"], how="template", path=(name,))
            for name in ("runtimeClassName", "topologySpreadConstraints", "terminationGracePeriodSeconds")
        ]
    return rows


def _hub_variables(ending: str) -> tuple[str, ...]:
    return (f"superlink_{ending}", f"superlink_serverapp_{ending}")


_ENDINGS = (
    "node_selector", "affinity", "tolerations", "priority_class", "pod_labels", "pod_annotations", "volumes", "pod_template",
    "init_containers", "extra_containers",
)  # fmt: skip
_POOL = "supernodes.pools[]"

FIELDS: tuple[Row, ...] = (
    _to("mode", "mode", how="later"),
    _to("isolationMode", "superlink_isolation", "supernode_isolation", how="later"),
    _refused("version", "the operator never reads it; the version is taken from the images"),
    _refused("insecure", "TLS, keys and certificates are on; flower_insecure is for labs only", default=False),
    _to("superlink.image", "superlink_image", how="image", why="or flower_version, where it is Flower's own"),
    _to("superlink.superexecImage", "superlink_serverapp_image", how="image", process=True, why="or flower_version, where it is Flower's own"),
    _to("superlink.resources", "superlink_resources"),
    _to("superlink.superexecResources", "superlink_serverapp_resources", process=True),
    _to("superlink.env", "superlink_env", "superlink_serverapp_env", how="env"),
    _to("superlink.extraArgs", "superlink_extra_args", how="arguments"),
    _to("superlink.service.type", "superlink_exposure", how="exposure", default="ClusterIP", why="of the gateway"),
    _to("superlink.service.ports.grpc", "superlink_port", default=9092, why="the operator's SuperNodes continue to dial 9092"),
    _refused("superlink.service.ports.serverAppIO", _PORTS, default=9091),
    _refused("superlink.service.ports.extra", _PORTS, default=9093),
    _to("superlink.service.labels", "superlink_service_labels"),
    _to("superlink.service.annotations", "superlink_service_annotations"),
    _to("superlink.volumes", "superlink_volumes", "superlink_serverapp_volumes", how="volumes"),
    _to("superlink.volumeMounts", "superlink_volume_mounts", "superlink_serverapp_volume_mounts", how="mounts"),
    _to("superlink.superexecVolumeMounts", "superlink_serverapp_volume_mounts", how="exec_mounts", process=True),
    _refused("superlink.volumeClaimTemplates", f"the database is on a volume of superlink_storage_size; else {_CLAIMS.format('superlink_volumes')}"),
    *_template("superlink", {ending: _hub_variables(ending) for ending in _ENDINGS}, pool=False),
    _to("supernodes.image", "supernode_image", how="image", why="or flower_version, where it is Flower's own"),
    _to("supernodes.env", "supernode_env", how="env"),
    _to(f"{_POOL}.name", "name", how="later"),
    _to(f"{_POOL}.replicas", "replicas", how="replicas"),
    _to(f"{_POOL}.images.supernode", "image", how="image", why="or flower_version, where it is Flower's own"),
    _to(f"{_POOL}.images.superexecClientApp", "superexec_image", how="image", process=True, why="or flower_version, where it is Flower's own"),
    _to(f"{_POOL}.gpu.enabled", "gpu", how="gpu", default=False),
    _to(f"{_POOL}.gpu.vendor", "gpu", how="part_of_gpu"),
    _to(f"{_POOL}.gpu.resourceName", "gpu", how="part_of_gpu"),
    _to(f"{_POOL}.gpu.count", "gpu", how="part_of_gpu", default=1),
    _to(
        f"{_POOL}.gpu.mountAll", "gpu", how="mount_all", default=False,
        why="with mount_all and the runtime class nvidia; nothing is requested, as there. Not for amd, where the operator has privileged pods",
    ),  # fmt: skip
    _to(f"{_POOL}.supernodeResources", "resources"),
    _to(f"{_POOL}.superexecResources", "superexec_resources", process=True),
    _to(f"{_POOL}.extraArgs", "extra_args", how="arguments"),
    _to(f"{_POOL}.env", "env", how="env"),
    _to(f"{_POOL}.volumes", "volumes", how="volumes"),
    _to(f"{_POOL}.volumeMounts", "volume_mounts", how="mounts"),
    _to(f"{_POOL}.superexecVolumeMounts", "volume_mounts", how="exec_mounts", process=True),
    _refused(f"{_POOL}.volumeClaimTemplates", _CLAIMS.format("volumes of the pool")),
    _to(f"{_POOL}.nodeConfig", "node_config", how="node_config"),
    *_template(_POOL, {ending: (ending,) for ending in _ENDINGS}, pool=True),
)
