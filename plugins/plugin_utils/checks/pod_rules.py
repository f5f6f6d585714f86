# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hub's pods and those of sites have in common: containers, environment, volumes, devices, placement, templates and patches.

What is wrong with the fields of a pod itself is left to the API server, which the preflight asks (C(checks/rehearsal.py)).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Set
from typing import Any

from ..base.addresses import SUBDOMAIN
from ..base.object_names import RUNTIME_CA_DIR, RUNTIME_CA_VOLUME, TUNNEL_VOLUMES
from ..base.values import boolean, text
from ..manifests.patches import RESERVED_ENV, PatchError
from .program_options import Program, argument_problems
from .value_checks import IMAGE, NAME, UNSET, Check, Problems, Rule, Shape, Spec, each, given, number, pattern

_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})([-.a-zA-Z0-9]*)")
# Names of the tz database: parts of letters, digits and a few signs (its file C(theory.html), «Names of timezones»).
_TIME_ZONE = r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z][A-Za-z0-9_+-]*){0,2}"
_DEVICES = re.compile(r"all|[A-Za-z0-9:/.-]+(?:,[A-Za-z0-9:/.-]+)*")
# Containers of the pods that the roles make.
OWN_CONTAINERS = frozenset(("superlink", "gateway", "superexec", "supernode", "sidecar", "wait-key", "flower-outputs", "outputs"))
IMAGES = ("image", "superexec_image", "sidecar_image", "tunnel_image", "gateway_image", "serverapp_image")

# Names of the volumes that the roles' own pods have, and where their containers mount them: of the SuperLink's pod, the ServerApp's, and a site's.
SUPERLINK_VOLUMES = frozenset({
    "data", "internal", "cli", "sl-home", "gw-run", "gw-conf", "internal-ca", "gw-certs", "gw-next", "gw-clients", "rt-certs",
    "superexec", "metrics-control",
})  # fmt: skip
SUPERLINK_PATHS = frozenset({"/data", "/internal", "/flwr", "/flwr/config.toml", "/run/gw", "/superexec"})
SERVERAPP_VOLUMES = frozenset({"internal-ca", "superexec", "tmp", "shm"})
SERVERAPP_PATHS = frozenset({"/internal-ca", "/superexec", "/tmp"})
HUB_VOLUMES, HUB_PATHS = SUPERLINK_VOLUMES | SERVERAPP_VOLUMES, SUPERLINK_PATHS | SERVERAPP_PATHS
SITE_VOLUMES = frozenset({
    "trust", "keys", "gw-run", "gw-conf", "local", "local-ca", "client", "superexec", "tmp", "shm", RUNTIME_CA_VOLUME, *TUNNEL_VOLUMES,
})  # fmt: skip
SITE_PATHS = frozenset({"/keys", "/trust", "/local-ca", "/superexec", "/tmp", RUNTIME_CA_DIR})


def normal_path(path: str) -> str:
    """A path as the kubelet reads it: absolute, without C(.), C(..) and doubled slashes."""
    return posixpath.normpath("/" + path.lstrip("/"))


def resources(found: Problems, variable: str, value: Any) -> None:
    """A ResourceRequirements: requests and limits with quantities."""
    for part, amounts in (value or {}).items():
        if part not in ("requests", "limits"):
            found.add(f"{variable}.{part}", amounts, "is neither requests nor limits")
        elif found.mapping(f"{variable}.{part}", amounts):
            for name, amount in (amounts or {}).items():
                found.quantity(f"{variable}.{part}[{name}]", amount)


def env(found: Problems, variable: str, value: Any) -> None:
    """A list of EnvVar. Rendering drops keys that it does not know, and the API server would not see them."""
    for index, entry in enumerate(value or []):
        at, name = f"{variable}[{index}]", entry.get("name")
        if not isinstance(name, str) or not _ENV_NAME.fullmatch(name):
            found.add(at, Shape(entry), "has no name that is valid in a container's environment")
            continue
        for key in entry:
            if key not in ("name", "value", "valueFrom"):
                found.add(at, Shape(entry), f"has the key {key!r}, which is not one of name, value, valueFrom")
        if name in RESERVED_ENV:
            found.add(f"{at}.name", name, "is set by this collection: a SuperNode finds its key by it")
        one, other = entry.get("value"), entry.get("valueFrom")
        if one is None and other is None and "value" not in entry:
            found.add(at, Shape(entry), f"has neither value nor valueFrom (name {name!r})")
        elif one is not None and other is not None:
            found.add(at, Shape(entry), f"has both value and valueFrom (name {name!r})")
        elif isinstance(one, (Mapping, list)):
            found.add(at, Shape(entry), f"has a value that is not a string (name {name!r})")
        else:
            found.argument_text(f"{at}.value", one, name)
    valid = [entry if _ENV_NAME.fullmatch(text(entry.get("name"))) else {} for entry in value or []]  # others may be a credential, and are not shown
    found.unique(variable, valid, "is listed twice")


def arguments(found: Problems, variable: str, value: Any, program: Program, version: Any) -> None:
    """Extra arguments: those that a program of a Flower release takes, none of them an option that the role sets itself."""
    match = _VERSION.fullmatch(text(version))
    release = (int(match[1]), int(match[2])) if match else (0, 0)
    for index, argument in enumerate(value or []):
        found.argument_text(f"{variable}[{index}]", argument)
    for index, option, reason in argument_problems(value or [], program, release):
        found.add(f"{variable}[{index}]", option or Shape(value[index]), reason)


def volumes(found: Problems, spec: Spec, at: str, own_names: Set[str], own_paths: Set[str]) -> None:
    """Volumes and mounts: names and paths that the role does not use, mounts of volumes that exist.

    Args:
        spec: has C(volumes) and C(volume_mounts).
        at: the path before their keys.
    """
    listed = spec.get("volumes") or []
    for index, volume in enumerate(listed):
        if isinstance(volume.get("name"), str):
            found.label(f"{at}volumes[{index}].name", volume["name"])
        else:
            found.add(f"{at}volumes[{index}]", Shape(volume), "has no name")
    names = found.unique(f"{at}volumes", listed, "exists already; use another name", own_names)
    paths: set[str] = set()
    for index, mount in enumerate(spec.get("volume_mounts") or []):
        where = f"{at}volume_mounts[{index}]"
        if not isinstance(mount.get("name"), str) or not mount.get("mountPath"):
            found.add(where, Shape(mount), "has no name or no mountPath")
            continue
        if mount["name"] not in names:
            found.add(f"{where}.name", mount["name"], f"is not one of the volumes in {found.prefix}{at}volumes")
        path = normal_path(text(mount["mountPath"]))
        if path == "/" or ":" in path:
            found.add(f"{where}.mountPath", mount["mountPath"], "is not a path at which a volume can be mounted")
        elif path in own_paths or path in paths:
            found.add(f"{where}.mountPath", mount["mountPath"], "is mounted already")
        paths.add(path)


def containers(found: Problems, variable: str, value: Any) -> None:
    """A list of Container, with names that no container of the roles has."""
    for index, container in enumerate(value or []):
        at, name = f"{variable}[{index}]", container.get("name")
        if not isinstance(name, str):
            found.add(at, Shape(container), "has no name")
            continue
        found.label(f"{at}.name", name)
        if not container.get("image"):
            found.add(at, Shape(container), f"has no image (name {name!r})")
        found.image(f"{at}.image", container.get("image"))
    found.unique(variable, value or [], "exists already; use another name", OWN_CONTAINERS)


def gpu(found: Problems, variable: str, value: Any, limits: Any) -> None:
    """A C(gpu) mapping, and no second amount of the same device among the resources of the container."""
    if not value:
        return
    found.apply(_GPU, value, f"{variable}.")
    found.number(f"{variable}.count", value.get("count"), 0)
    resource = value.get("resource") or "nvidia.com/gpu"
    head, slash, name = text(resource).rpartition("/")
    if not slash or not SUBDOMAIN.fullmatch(head) or not NAME.fullmatch(name):
        found.add(f"{variable}.resource", resource, 'is not an extended resource like "nvidia.com/gpu"')
    given(Problems.subdomain)(found, f"{variable}.runtime_class", value.get("runtime_class"))
    for part in ("requests", "limits"):
        if isinstance(limits, Mapping) and resource in (limits.get(part) or {}):
            found.add(f"{variable}.resource", resource, f"is among the {part} of the container, too; set it once")


def _all_devices(spec: Spec) -> bool:
    return boolean(spec.get("mount_all"))


_UNCOUNTED = "has no effect with mount_all: nothing is requested of the scheduler"
_GPU = (
    Rule("mount_all", lambda gpu: _all_devices(gpu) and not gpu.get("runtime_class"),
         "needs a runtime_class that shows devices, such as nvidia; devices of other vendors need count, since Pod Security restricted refuses folders of "
         "the node"),
    Rule("resource", lambda gpu: _all_devices(gpu) and gpu.get("resource") not in UNSET, _UNCOUNTED),
    Rule("count", lambda gpu: _all_devices(gpu) and gpu.get("count") not in UNSET, _UNCOUNTED),
    Rule(
        "visible_devices",
        lambda gpu: _all_devices(gpu) and gpu.get("visible_devices") not in UNSET and not _DEVICES.fullmatch(text(gpu["visible_devices"])),
        'must be "all" or a comma-separated list of device numbers or UUIDs',
    ),
    Rule("visible_devices", lambda gpu: not _all_devices(gpu) and gpu.get("visible_devices"),
         "has no effect without mount_all: the device plugin chooses the devices that count asks for"),
)


def _template(found: Problems, variable: str, value: Any) -> None:
    """A partial PodTemplateSpec. Whether it fits is seen when it is rendered."""
    for part, content in (value or {}).items():
        if part not in ("metadata", "spec"):
            found.add(f"{variable}.{part}", Shape(content), "is neither metadata nor spec")
        elif found.mapping(f"{variable}.{part}", content) and part == "metadata":
            for key, entry in (content or {}).items():
                if key not in ("labels", "annotations"):
                    found.add(f"{variable}.metadata.{key}", entry, "is neither labels nor annotations")
                else:
                    found.labels(f"{variable}.metadata.{key}", entry, values=key == "labels")


#: Of each kind of pods.
PODS: Mapping[str, Check] = {
    "priority_class": given(Problems.subdomain),
    "pod_labels": Problems.labels,
    "pod_annotations": Problems.annotations,
    "init_containers": containers,
    "extra_containers": containers,
    "pod_template": _template,
    "env": env,
    "resources": resources,
    "shm_size": given(Problems.quantity),
}


def _release(found: Problems, variable: str, value: Any) -> None:
    """A Flower release. Flower moved from gRPC (up to 1.34) to HTTP on one port (from 1.40) step by step."""
    match = _VERSION.fullmatch(text(value))
    release = (int(match[1]), int(match[2])) if match else (0, 0)
    if not match or len(text(value)) > 63:
        found.add(variable, value, 'is not a Flower release like "1.41.0"')
    elif release < (1, 35):
        reason = "is of Flower's gRPC generation (up to 1.34), which this release of the collection does not deploy; use 1.40 or later"
        found.add(variable, value, reason)
    elif release < (1, 40):
        reason = "is in Flower's transition from gRPC to HTTP (1.35 to 1.39), which neither generation supports; use 1.40 or later"
        found.add(variable, value, reason)


def _registry(found: Problems, variable: str, value: Any) -> None:
    if not isinstance(value, str) or not IMAGE.fullmatch(f"{value.rstrip('/')}/a"):
        found.add(variable, value, 'is not a registry: use "host[:port][/path]", without https://')


#: Of hub and sites.
COMMON: Mapping[str, Check] = {
    "version": _release,
    "federation": Problems.label,
    "namespace": Problems.label,
    "image_registry": given(_registry),
    "image_pull_secrets": each(Problems.subdomain),
    "time_zone": given(pattern(_TIME_ZONE, 'is not the name of a time zone: use one such as "Europe/Paris" or "UTC"')),
    # Pod Security "restricted" refuses user 0; group 0 is what OpenShift uses.
    "run_as_user": number(1, 2**31 - 1),
    "run_as_group": number(0, 2**31 - 1),
    "fs_group": number(0, 2**31 - 1),
    **dict.fromkeys(IMAGES, Problems.image),
    "labels": Problems.labels,
    "annotations": Problems.annotations,
    "superlink_address": Problems.address,
    "server_name": given(Problems.subdomain),
    "ca_bundle": Problems.certificates,
}


def patches(found: Problems, spec: Spec, render: Callable[[], Any]) -> None:
    """Patches, and whether each of them and each pod template fits an object that is rendered.

    Args:
        render: renders the spec; only called when everything else is right.
    """
    for index, patch in enumerate(spec.get("patches") or []):
        if not isinstance(patch.get("patch"), (Mapping, list)):
            found.add(f"patches[{index}].patch", Shape(patch.get("patch")), "is neither a mapping (merge) nor a list (JSON patch)")
    parts = [spec, *(spec.get("pools") or [])]
    templates = any(part.get(key) for part in parts for key in ("pod_template", "serverapp_pod_template"))
    if found.found or not (spec.get("patches") or templates):
        return
    try:
        render()
    except PatchError as exc:
        found.sentence(f"{found.prefix}{exc}")
