# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pods of all components share: images, security contexts, environment, probes and volumes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..base.values import Object, compact
from ..spec.part_spec import FlowerSpec, merge_env
from ..spec.pods_spec import PodsSpec
from . import patches
from .common_objects import labels

UPSTREAM_IMAGES = {
    "superlink": "flwr/superlink:{version}",
    "supernode": "flwr/supernode:{version}",
    "superexec": "flwr/superexec:{version}",
    "haproxy": "library/haproxy:2.6",
    "socat": "alpine/socat:1.8.0.3",
    "rclone": "rclone/rclone:1.75.0",
}

# SIGTERM stops SuperLink in 0.2-2.4 s.
GRACE_SECONDS = 15


class AppParts(NamedTuple):
    """What is added to a container and its pod."""

    env: list[Object] = []
    mounts: list[Object] = []
    volumes: list[Object] = []


def image(spec: FlowerSpec, kind: str, override: str = "") -> str:
    """Reference of an image: the user's, else the upstream one taken from the registry or mirror of the spec.

    Args:
        kind: key of C(UPSTREAM_IMAGES).
    """
    upstream = UPSTREAM_IMAGES[kind].format(version=spec.version)
    return override or f"{spec.image_registry.rstrip('/')}/{upstream}"


def pod_security_context(spec: FlowerSpec) -> Object:
    """Security context of a pod that complies with Pod Security "restricted".

    Fields that are None are left out: OpenShift's SCCs choose user and groups themselves.
    """
    users = {"runAsUser": spec.run_as_user, "runAsGroup": spec.run_as_group, "fsGroup": spec.fs_group}
    return compact({"runAsNonRoot": True, **users, "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": {"type": "RuntimeDefault"}})


def container_security_context() -> Object:
    """Security context of every container: no privileges, nothing writable but the mounts."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}


def flower_env(spec: FlowerSpec, home: str) -> list[Object]:
    """Environment of every Flower container.

    Telemetry and the update check are off. HOME is set because a random user id has no entry in /etc/passwd.

    Args:
        home: the container's writable directory.
    """
    env = [
        {"name": "FLWR_TELEMETRY_ENABLED", "value": "0"},
        {"name": "FLWR_DISABLE_UPDATE_CHECK", "value": "1"},
        {"name": "HOME", "value": home},
        {"name": "FLWR_HOME", "value": home if home != "/tmp" else "/tmp/flwr"},
        {"name": "TMPDIR", "value": home},
    ]
    if spec.log_level:
        env.append({"name": "FLWR_LOG_LEVEL", "value": spec.log_level})
    if spec.time_zone:
        env.append({"name": "TZ", "value": spec.time_zone})
    return env


def past_proxy(env: list[Object], *urls: str) -> list[Object]:
    """The environment of a container that reaches its own peers even if it has an HTTP proxy, which users set for what apps download.

    Flower's client asks the proxy for every host, localhost included, that C(NO_PROXY) does not have (httpx, C(trust_env)). The proxy
    does not know these. C(no_proxy) is preferred to C(NO_PROXY), so each one that is set gets them; a value from elsewhere stays as it is.

    Args:
        urls: C(scheme://host) of the peers.
    """
    set_ones = {entry["name"].lower() for entry in env if entry.get("value") != ""}
    hosts = [host for scheme, host in (url.split("://") for url in urls) if set_ones & {f"{scheme}_proxy", "all_proxy"}]
    if not hosts:
        return env
    if "no_proxy" not in set_ones:
        return merge_env(env, [{"name": "NO_PROXY", "value": ",".join(hosts)}])
    extended = []
    for entry in env:
        if entry["name"].lower() == "no_proxy" and entry.get("value"):
            known = [one.strip() for one in entry["value"].split(",")]
            missing = [host for host in hosts if not any(one in ("*", host) or (one[:1] == "." and host.endswith(one)) for one in known)]
            entry = {**entry, "value": ",".join([entry["value"], *missing])}
        extended.append(entry)
    return extended


def grpc_probes(port: int, *, failures: int) -> Object:
    """Start-up and liveness probe on a gRPC health port.

    Never C(httpGet /health) for a SuperNode: that answers 200 after the connection was closed permanently, and only the
    gRPC check notices (it times out).

    Args:
        failures: failed liveness checks, ten seconds apart, before the container is restarted.
    """
    return {
        # Python imports for several seconds on a busy node: the start-up probe waits two minutes and runs every second.
        "startupProbe": {"grpc": {"port": port}, "periodSeconds": 1, "failureThreshold": 120},
        "livenessProbe": {"grpc": {"port": port}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": failures},
    }


def secret_volume(name: str, secret: str, *, keys: Iterable[str] | None = None, optional: bool = False) -> Object:
    """A volume with a Secret's files, readable by the pod's group only (fsGroup)."""
    source: Object = {"secretName": secret, "defaultMode": 0o440}
    if keys:
        source["items"] = [{"key": key, "path": key} for key in keys]
    if optional:
        source["optional"] = True
    return {"name": name, "secret": source}


def key_pair_volume(name: str, secret: str, *, optional: bool = False) -> Object:
    """A volume with certificate and key of a Secret in the form that HAProxy's C(crt) takes: FILE and FILE.key.

    The Secret needs C(tls.crt) and C(tls.key) only, so that those of cert-manager and of users fit as they are. HAProxy
    2.2 and later look for the key next to a certificate without one (C(ssl-load-extra-files)).
    """
    volume = secret_volume(name, secret, optional=optional)
    volume["secret"]["items"] = [{"key": "tls.crt", "path": "tls.pem"}, {"key": "tls.key", "path": "tls.pem.key"}]
    return volume


def config_volume(name: str, config: str) -> Object:
    """A volume with a ConfigMap's files."""
    return {"name": name, "configMap": {"name": config, "defaultMode": 0o444}}


def scratch_volume(name: str, *, size: str = "", memory: bool = False) -> Object:
    """An emptyDir, in memory if requested."""
    return {"name": name, "emptyDir": compact({"medium": "Memory" if memory else None, "sizeLimit": size})}


def mount(name: str, path: str, *, read_only: bool = True, sub_path: str | None = None) -> Object:
    """A volume mount."""
    return compact({"name": name, "mountPath": path, "readOnly": True if read_only else None, "subPath": sub_path})


def pod_template(
    spec: FlowerSpec,
    name: str,
    pods: PodsSpec,
    *,
    containers: list[Object],
    volumes: list[Object],
    init_containers: list[Object] | None = None,
    account: str | None = None,
    runtime_class: str = "",
    grace: int = GRACE_SECONDS,
    restart: str = "Always",
    pool: str | None = None,
    notes: Mapping[str, str] | None = None,
    affinity: Object | None = None,
) -> Object:
    """A pod template. Nothing that changes often may enter it: each change restarts pods.

    Args:
        name: of the application, and of its service account unless C(account) is another one.
        pods: settings of these pods.
        grace: seconds between SIGTERM and SIGKILL.
        restart: a SuperNode that lost its registration exits with code 0.
        notes: annotations besides those of the settings.
        affinity: that of the settings with more in it.

    Raises:
        PatchError: the C(pod_template) of the settings does not fit.
    """
    own = {**pods.pod_labels, **labels(spec, name, pool=pool)}
    all_notes = {**pods.pod_annotations, **(notes or {})}

    def hardened(containers: Iterable[Object]) -> list[Object]:
        # A user's container without a security context has that of the others: Pod Security "restricted" wants one.
        return [{"securityContext": container_security_context(), **one} for one in containers]

    body = {
        "serviceAccountName": name if account is None else account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": grace,
        "securityContext": pod_security_context(spec),
        "imagePullSecrets": [{"name": name} for name in spec.image_pull_secrets],
        "nodeSelector": dict(sorted(pods.node_selector.items())),
        "tolerations": pods.tolerations,
        "affinity": pods.affinity if affinity is None else affinity,
        "topologySpreadConstraints": pods.topology_spread_constraints,
        "priorityClassName": pods.priority_class,
        "runtimeClassName": runtime_class,
        "initContainers": [*(init_containers or []), *hardened(pods.init_containers)],
        "containers": [*containers, *hardened(pods.extra_containers)],
        "volumes": volumes,
    }
    meta = {"labels": dict(sorted(own.items())), "annotations": dict(sorted(all_notes.items()))}
    template = {"metadata": compact(meta), "spec": compact(body)}
    if not pods.pod_template:
        return template
    try:
        merged = patches.apply_one(template, {"patch": pods.pod_template})
        if lost := list(patches.template_losses(template, merged)):
            raise patches.PatchError("; ".join(lost))
    except patches.PatchError as error:
        raise patches.PatchError(f"pod_template of the pods {name}: {error}") from None
    return merged
