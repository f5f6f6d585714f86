# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that role argument specs can't say, checked before any cluster is touched.

Every validator returns all faults at once, as sentences that name the cluster (inventory host), the variable and the
value. An empty list means that the spec can be rendered.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from ..apply.compare import quantity
from ..base.addresses import SUBDOMAIN, is_host, split_address
from ..base.platforms import PLATFORMS
from ..base.values import boolean, integer, text
from ..manifests.patch_losses import OWN_MARKS, RESERVED_ENV
from ..manifests.patches import TYPES, PatchError
from ..pki import chain, library
from .program_options import Program, argument_faults

Spec = Mapping[str, Any]

# Kubernetes: RFC 1123 label, and qualified names (apimachinery/pkg/util/validation).
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_QUANTITY = re.compile(r"[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_DIGITS = 30  # beyond which Decimal rounds, and the API server computes for minutes
MAX_AMOUNT = 2**63 - 1
# github.com/distribution/reference: reference.go, «Grammar»; digests as github.com/opencontainers/go-digest knows them.
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?"
_IMAGE = re.compile(
    rf"(?![a-f0-9]{{64}}(?![^:@]))(?![^@]*?[^:@]{{256}})(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?"
    r"(?:@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?"
)
_OCTAL = re.compile(r"[+-]?0[0-9]+")
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})([-.a-zA-Z0-9]*)")

# Names of the tz database: parts of letters, digits and a few signs (its file C(theory.html), «Names of timezones»).
_TIME_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z][A-Za-z0-9_+-]*){0,2}")

_GPU_KEYS = ("resource", "count", "runtime_class", "mount_all", "visible_devices")
_DEVICES = re.compile(r"all|[A-Za-z0-9:/.-]+(?:,[A-Za-z0-9:/.-]+)*")
ISOLATIONS = ("process", "subprocess")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
POD_SECURITY_LEVELS = ("auto", "privileged", "baseline", "restricted")
# Containers of the pods that the roles make.
OWN_CONTAINERS = frozenset(("superlink", "gateway", "superexec", "supernode", "sidecar", "wait-key", "flower-outputs", "outputs"))

IMAGES = ("image", "superexec_image", "sidecar_image", "tunnel_image", "gateway_image", "serverapp_image")

# Kubernetes uses int32 for almost all numbers.
MAX_NUMBER = 2**31 - 1
MAX_SECONDS = 7 * 24 * 3600  # that a step may be waited for
MAX_ANNOTATIONS = 256 * 1024
MAX_DAYS = 36500  # of a certificate
# The limit of Linux for an argument or NAME=value with its closing zero byte (MAX_ARG_STRLEN).
MAX_TEXT_BYTES = 131072 - 1
_SHOWN = 200  # characters of a value that a message shows


def normal_path(path: str) -> str:
    """A path as the kubelet reads it: absolute, without C(.), C(..) and doubled slashes."""
    return posixpath.normpath("/" + path.lstrip("/"))


class Shape:
    """Replaces a value that may contain a credential in a message: shows its type, not its content."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        if isinstance(self._value, Mapping):
            return f"an entry with the keys {', '.join(map(text, self._value)) or '(none)'}"
        if isinstance(self._value, list):
            return f"a list of {len(self._value)}"
        return f"a value of the type {type(self._value).__name__} (not shown)"


def shown(value: Any) -> str:
    """A value for a message, cut when it is long."""
    whole = repr(value[: _SHOWN + 1] if isinstance(value, (str, list)) else value)
    return whole if len(whole) <= _SHOWN else whole[:_SHOWN] + "…"


class Faults:
    """Collects sentences.

    Args:
        prefix: prefix of the role's variables, C(superlink_) or C(supernode_).
    """

    def __init__(self, spec: Spec, prefix: str) -> None:
        self.cluster = text(spec.get("cluster"))
        version = _VERSION.fullmatch(text(spec.get("version")))
        self.release = (int(version[1]), int(version[2])) if version else (0, 0)
        self.prefix = prefix
        self.found: list[str] = []

    def add(self, variable: str, value: Any, reason: str) -> None:
        """One fault.

        Args:
            variable: key of the spec, with a path if needed (C(pools[0].name)).
        """
        where = f"{self.cluster}: " if self.cluster else ""
        # superlink_address is a variable of both roles, with exactly this name.
        name = variable if variable.startswith(self.prefix) else self.prefix + variable
        self.found.append(f"{where}{name}: {shown(value)} {reason}")

    def sentence(self, sentence: str) -> None:
        """A fault whose text is complete."""
        where = f"{self.cluster}: " if self.cluster and self.cluster not in sentence else ""
        self.found.append(where + sentence)

    # Each check below adds a fault if the value is wrong and returns whether it was right.

    def label(self, variable: str, value: Any, limit: int = 63) -> bool:
        """A DNS-1123 label of at most C(limit) characters."""
        if not isinstance(value, str) or not _LABEL.fullmatch(value):
            self.add(
                variable,
                value,
                "is not a DNS-1123 label: lower case letters, digits and -, with a letter or digit at both ends",
            )
            return False
        if len(value) > limit:
            self.add(variable, value, f"has {len(value)} characters, at most {limit} are possible")
            return False
        return True

    def subdomain(self, variable: str, value: Any) -> bool:
        """A DNS-1123 subdomain."""
        good = isinstance(value, str) and len(value) <= 253 and bool(SUBDOMAIN.fullmatch(value))
        if not good:
            self.add(variable, value, "is not a DNS name of lower case letters, digits, - and .")
        return good

    def port(self, variable: str, value: Any, low: int = 1, high: int = 65535) -> bool:
        """A port number."""
        return self.number(variable, value, low, high)

    def number(self, variable: str, value: Any, low: int, high: int | None = None) -> bool:
        """A whole number in a range, by default up to C(MAX_NUMBER); "not set" is right."""
        try:
            number = None if isinstance(value, bool) else integer(value)
            good = not isinstance(value, (bool, float))
        except (TypeError, ValueError):
            good, number = False, None
        if not good:
            self.add(variable, value, "is not an integer")
            return False
        if isinstance(value, str) and _OCTAL.fullmatch(value.strip()):
            self.add(variable, value, "begins with 0: octal for some programs, decimal for others. Write the decimal number")
            return False
        if number is not None and (number < low or (high is not None and number > high)):
            self.add(variable, value, f"is not between {low} and {high}" if high is not None else f"is below {low}")
            return False
        if number is not None and number > MAX_NUMBER:
            self.add(variable, value, f"is above {MAX_NUMBER}, the largest number that Kubernetes takes here")
            return False
        return True

    def choice(self, variable: str, value: Any, choices: Iterable[str]) -> bool:
        """One of some words."""
        words = list(choices)
        if value not in words:
            self.add(variable, value, f"is not one of {', '.join(words)}")
            return False
        return True

    def quantity(self, variable: str, value: Any) -> bool:
        """A Kubernetes quantity that is not negative, as "500m" or "2Gi"."""
        given = text(value)
        if isinstance(value, bool) or not _QUANTITY.fullmatch(given) or given.startswith("-"):
            self.add(variable, value, 'is not a quantity like "500m", "2" or "4Gi"')
            return False
        amount = quantity(given)
        if amount is None or not -_DIGITS < amount.adjusted() < _DIGITS or amount > MAX_AMOUNT:
            self.add(variable, value, "is beyond what Kubernetes can count: up to 2^63-1, in steps of 10^-9")
            return False
        return True

    def image(self, variable: str, value: Any) -> None:
        """A reference of an image, as container runtimes read it; "not set" is right."""
        if value and not (isinstance(value, str) and _IMAGE.fullmatch(value)):
            problem = "is not a reference of an image: [host[:port]/]path[:tag][@sha256:digest], the path in lower case, without https:// and blanks"
            self.add(variable, value, problem)

    def resources(self, variable: str, value: Any) -> None:
        """A ResourceRequirements: requests and limits with quantities."""
        if not self.mapping(variable, value):
            return
        for part, amounts in (value or {}).items():
            if part not in ("requests", "limits"):
                self.add(f"{variable}.{part}", amounts, "is neither requests nor limits")
            elif self.mapping(f"{variable}.{part}", amounts):
                for name, amount in (amounts or {}).items():
                    self.quantity(f"{variable}.{part}[{name}]", amount)

    def mapping(self, variable: str, value: Any) -> bool:
        """A mapping, or not set."""
        if value is not None and not isinstance(value, Mapping):
            self.add(variable, value, "is not a mapping")
            return False
        return True

    def sequence(self, variable: str, value: Any, *, hidden: bool = False) -> bool:
        """A list, or not set. C(hidden): it may contain credentials, and is not shown."""
        if value is not None and not isinstance(value, list):
            self.add(variable, Shape(value) if hidden else value, "is not a list")
            return False
        return True

    def argument_text(self, variable: str, value: Any, name: str = "") -> None:
        """Text that can be an argument of a process, or as the value of the environment variable C(name)."""
        given = text(value)
        if "\0" in given:
            self.add(variable, Shape(value), "contains a NUL character, which ends a text in Linux")
        size = len((f"{name}={given}" if name else given).encode("utf-8", "replace"))
        if size > MAX_TEXT_BYTES:
            self.add(
                variable,
                Shape(value),
                f"has {size} bytes{' with its name' if name else ''}; the limit of Linux is {MAX_TEXT_BYTES}. Put it into a ConfigMap or "
                "Secret and mount that",
            )

    def labels(self, variable: str, value: Any, *, values: bool = True, own: bool = False) -> None:
        """Labels (C(values)) or annotations, none of them the collection's own unless C(own) is true."""
        if not self.mapping(variable, value):
            return
        size = sum(len((text(key) + text(entry)).encode("utf-8", "replace")) for key, entry in (value or {}).items())
        if size > MAX_ANNOTATIONS:
            self.add(variable, Shape(value), f"has {size} bytes; Kubernetes takes {MAX_ANNOTATIONS} of all annotations together")
        for key, entry in (value or {}).items():
            head, slash, name = text(key).rpartition("/")
            if len(name) > 63 or not _NAME.fullmatch(name) or (slash and not SUBDOMAIN.fullmatch(head)):
                self.add(
                    f"{variable}[{key}]",
                    entry,
                    "has a key that Kubernetes rejects: [prefix/]name, name at most 63 characters",
                )
            elif values and not own and OWN_MARKS.fullmatch(text(key)):
                self.add(f"{variable}[{key}]", entry, "replaces a label by which this collection finds its objects")
            if values and entry not in (None, "") and (len(text(entry)) > 63 or not _NAME.fullmatch(text(entry))):
                self.add(f"{variable}[{key}]", entry, "is not a label value: at most 63 letters, digits, -, _ and .")

    def env(self, variable: str, value: Any) -> None:
        """A list of EnvVar."""
        if not self.sequence(variable, value, hidden=True):
            return
        seen: set[str] = set()
        for number, entry in enumerate(value or []):
            at = f"{variable}[{number}]"
            name = entry.get("name") if isinstance(entry, Mapping) else None
            if not isinstance(name, str) or not _ENV_NAME.fullmatch(name):
                self.add(at, Shape(entry), "has no name that is valid in a container's environment")
                continue
            for key in entry:
                if key not in ("name", "value", "valueFrom"):
                    self.add(at, Shape(entry), f"has the key {key!r}, which is not one of name, value, valueFrom")
            if name in RESERVED_ENV:
                self.add(f"{at}.name", name, "is set by this collection: a SuperNode finds its key by it")
            if name in seen:
                self.add(f"{at}.name", name, "is listed twice")
            seen.add(name)
            if (entry.get("value") is not None) == (entry.get("valueFrom") is not None) and "value" not in entry:
                self.add(at, Shape(entry), f"has neither value nor valueFrom (name {name!r})")
            elif entry.get("value") is not None and entry.get("valueFrom") is not None:
                self.add(at, Shape(entry), f"has both value and valueFrom (name {name!r})")
            elif isinstance(entry.get("value"), (Mapping, list)):
                self.add(at, Shape(entry), f"has a value that is not a string (name {name!r})")
            else:
                self.argument_text(f"{at}.value", entry.get("value"), name)

    def arguments(self, variable: str, value: Any, program: Program) -> None:
        """Extra arguments that a program takes, none of them an option that the role sets itself."""
        if not self.sequence(variable, value, hidden=True):
            return
        for number, argument in enumerate(value or []):
            if isinstance(argument, (Mapping, list)):
                self.add(f"{variable}[{number}]", Shape(argument), "is not a string")
                return
            self.argument_text(f"{variable}[{number}]", argument)
        for number, option, reason in argument_faults(value or [], program, self.release):
            self.add(f"{variable}[{number}]", option or Shape(value[number]), reason)

    def volumes(
        self, variable: str, volumes: Any, mounts_variable: str, mounts: Any, own_names: Set[str], own_paths: Set[str]
    ) -> None:
        """Volumes and mounts: names and paths that the role does not use, mounts of volumes that exist."""
        if not self.sequence(variable, volumes) or not self.sequence(mounts_variable, mounts):
            return
        names: set[str] = set()
        for number, volume in enumerate(volumes or []):
            at = f"{variable}[{number}]"
            name = volume.get("name") if isinstance(volume, Mapping) else None
            if not isinstance(name, str):
                self.add(at, Shape(volume), "has no name")
                continue
            self.label(f"{at}.name", name)
            if name in own_names or name in names:
                self.add(f"{at}.name", name, "exists already; use another name")
            names.add(name)
        paths: set[str] = set()
        for number, mount in enumerate(mounts or []):
            at = f"{mounts_variable}[{number}]"
            if not isinstance(mount, Mapping) or not mount.get("name") or not mount.get("mountPath"):
                self.add(at, Shape(mount), "has no name or no mountPath")
                continue
            if mount["name"] not in names:
                self.add(f"{at}.name", mount["name"], f"is not one of the volumes in {self.prefix}{variable}")
            path = normal_path(text(mount["mountPath"]))
            if path == "/" or ":" in path:
                self.add(f"{at}.mountPath", mount["mountPath"], "is not a path at which a volume can be mounted")
            elif path in own_paths or path in paths:
                self.add(f"{at}.mountPath", mount["mountPath"], "is mounted already")
            paths.add(path)

    def containers(self, variable: str, value: Any) -> None:
        """A list of Container."""
        if not self.sequence(variable, value, hidden=True):
            return
        names: set[str] = set()
        for number, container in enumerate(value or []):
            at = f"{variable}[{number}]"
            name = container.get("name") if isinstance(container, Mapping) else None
            if not isinstance(name, str):
                self.add(at, Shape(container), "has no name")
                continue
            self.label(f"{at}.name", name)
            if name in OWN_CONTAINERS or name in names:
                self.add(f"{at}.name", name, "exists already; use another name")
            names.add(name)
            if not container.get("image"):
                self.add(at, Shape(container), f"has no image (name {name!r})")
            self.image(f"{at}.image", container.get("image"))

    def gpu(self, variable: str, value: Any, limits: Any) -> None:
        """A C(gpu) mapping, and no second amount of the same device among the resources."""
        if not self.mapping(variable, value) or not value:
            return
        for key in value:
            if key not in _GPU_KEYS:
                self.add(f"{variable}.{key}", value[key], f"is not one of {', '.join(_GPU_KEYS)}")
        if boolean(value.get("mount_all")):
            self._all_gpus(variable, value)
        elif value.get("visible_devices"):
            problem = "has no effect without mount_all: the device plugin chooses the devices that count asks for"
            self.add(f"{variable}.visible_devices", value["visible_devices"], problem)
        self.number(f"{variable}.count", value.get("count"), 0)
        resource = value.get("resource") or "nvidia.com/gpu"
        head, slash, name = text(resource).rpartition("/")
        if not slash or not SUBDOMAIN.fullmatch(head) or not _NAME.fullmatch(name):
            self.add(f"{variable}.resource", resource, 'is not an extended resource like "nvidia.com/gpu"')
        if value.get("runtime_class"):
            self.subdomain(f"{variable}.runtime_class", value["runtime_class"])
        for part in ("requests", "limits"):
            if isinstance(limits, Mapping) and resource in (limits.get(part) or {}):
                self.add(f"{variable}.resource", resource, f"is among the {part} of the container, too; set it once")

    def _all_gpus(self, variable: str, value: Mapping[str, Any]) -> None:
        """Devices that no scheduler counts."""
        if not value.get("runtime_class"):
            problem = "needs a runtime_class that shows devices, such as nvidia; devices of other vendors need count, since Pod Security "
            self.add(f"{variable}.mount_all", value["mount_all"], problem + "restricted refuses folders of the node")
        for key in ("resource", "count"):
            if value.get(key) not in (None, ""):
                problem = "has no effect with mount_all: nothing is requested of the scheduler"
                self.add(f"{variable}.{key}", value[key], problem)
        devices = value.get("visible_devices")
        if devices not in (None, "") and not _DEVICES.fullmatch(text(devices)):
            problem = 'is not "all", or numbers or UUIDs of devices with commas between them'
            self.add(f"{variable}.visible_devices", devices, problem)

    def address(self, variable: str, value: Any) -> bool:
        """A "host:port"; "not set" is right."""
        if not text(value):
            return True
        if "@" in text(value):
            self.add(variable, Shape(value), 'contains credentials or another @; Flower takes "host:port"')
            return False
        if "://" in text(value):
            self.add(variable, value, 'is a URL; Flower takes "host:port"')
            return False
        try:
            host = split_address(text(value))[0]
        except ValueError:
            self.add(variable, value, 'is not "host:port" (an IPv6 address needs brackets)')
            return False
        if not is_host(host):
            self.add(variable, value, "has a host that is neither an IP address nor a DNS name")
            return False
        return True

    def networks(self, variable: str, value: Any) -> None:
        """A list of IP networks."""
        if not self.sequence(variable, value):
            return
        for number, entry in enumerate(value or []):
            try:
                ipaddress.ip_network(text(entry))
            except ValueError as exc:
                self.add(f"{variable}[{number}]", entry, f"is not a network ({exc})")

    def certificates(self, variable: str, value: Any) -> None:
        """PEM certificates and nothing else; "not set" is right."""
        if not value:
            return
        library.require()
        try:
            chain.read(text(value))
        except chain.ChainError as error:
            self.add(variable, Shape(value) if "PRIVATE KEY" in text(value) else text(value).strip()[:40], str(error))


def generation_fault(version: Any) -> str | None:
    """Why this release of the collection does not deploy a Flower release; None if it does.

    Flower moved from gRPC (up to 1.34) to HTTP on one port (from 1.40) step by step.
    """
    match = _VERSION.fullmatch(text(version))
    if not match or len(text(version)) > 63:
        return 'is not a Flower release like "1.41.0"'
    release = int(match[1]), int(match[2])
    if release < (1, 35):
        return (
            "is of Flower's gRPC generation (up to 1.34), which this release of the collection does not deploy; "
            "use 1.40 or later"
        )
    if release < (1, 40):
        return (
            "is in Flower's transition from gRPC to HTTP (1.35 to 1.39), which neither generation supports; "
            "use 1.40 or later"
        )
    return None


def common_faults(spec: Spec, faults: Faults) -> None:
    """Rules for the keys that both specs have."""
    reason = generation_fault(spec.get("version"))
    if reason:
        faults.add("version", spec.get("version"), reason)
    faults.label("federation", spec.get("federation"))
    faults.label("namespace", spec.get("namespace"))
    faults.choice("isolation", spec.get("isolation"), ISOLATIONS)
    if spec.get("platform"):
        faults.choice("platform", spec["platform"], PLATFORMS)
    if spec.get("image_pull_policy"):
        faults.choice("image_pull_policy", spec["image_pull_policy"], PULL_POLICIES)
    if spec.get("pod_security"):
        faults.choice("pod_security", spec["pod_security"], POD_SECURITY_LEVELS)
    registry = spec.get("image_registry")
    if registry and not (isinstance(registry, str) and _IMAGE.fullmatch(f"{registry.rstrip('/')}/a")):
        faults.add("image_registry", registry, 'is not a registry: use "host[:port][/path]", without https://')
    if faults.sequence("image_pull_secrets", spec.get("image_pull_secrets")):
        for number, name in enumerate(spec.get("image_pull_secrets") or []):
            faults.subdomain(f"image_pull_secrets[{number}]", name)
    zone = spec.get("time_zone")
    if zone and not _TIME_ZONE.fullmatch(text(zone)):
        faults.add("time_zone", zone, 'is not the name of a time zone: use one such as "Europe/Paris" or "UTC"')
    for key in ("run_as_user", "run_as_group", "fs_group"):
        # Pod Security "restricted" refuses user 0; group 0 is what OpenShift uses.
        faults.number(key, spec.get(key), 1 if key == "run_as_user" else 0, 2**31 - 1)
    for key in IMAGES:
        faults.image(key, spec.get(key))
    faults.labels("labels", spec.get("labels"))
    faults.labels("annotations", spec.get("annotations"), values=False)
    faults.address("superlink_address", spec.get("superlink_address"))
    if spec.get("server_name"):
        faults.subdomain("server_name", spec["server_name"])
    faults.certificates("ca_bundle", spec.get("ca_bundle"))
    if boolean(spec.get("insecure")) and spec.get("server_name"):
        faults.add(
            "server_name", spec["server_name"], "is a name in a certificate, but there is none: insecure is true"
        )


def placement_faults(keys: Spec, faults: Faults, at: str = "") -> None:
    """Rules for where pods run and what they are called. C(at) is the path before the key."""
    faults.mapping(f"{at}node_selector", keys.get("node_selector"))
    faults.sequence(f"{at}tolerations", keys.get("tolerations"))
    faults.mapping(f"{at}affinity", keys.get("affinity"))
    faults.sequence(f"{at}topology_spread_constraints", keys.get("topology_spread_constraints"))
    if keys.get("priority_class"):
        faults.subdomain(f"{at}priority_class", keys["priority_class"])
    faults.labels(f"{at}pod_labels", keys.get("pod_labels"))
    faults.labels(f"{at}pod_annotations", keys.get("pod_annotations"), values=False)
    for key in ("init_containers", "extra_containers"):
        faults.containers(f"{at}{key}", keys.get(key))
    for key in ("lifecycle", "superexec_lifecycle"):
        faults.mapping(f"{at}{key}", keys.get(key))
    _template_faults(f"{at}pod_template", keys.get("pod_template"), faults)


def _template_faults(variable: str, value: Any, faults: Faults) -> None:
    """A partial PodTemplateSpec. Whether it fits is seen when it is rendered."""
    if not faults.mapping(variable, value):
        return
    for part, found in (value or {}).items():
        if part not in ("metadata", "spec"):
            faults.add(f"{variable}.{part}", Shape(found), "is neither metadata nor spec")
        elif faults.mapping(f"{variable}.{part}", found) and part == "metadata":
            for key, entry in (found or {}).items():
                if key not in ("labels", "annotations"):
                    faults.add(f"{variable}.metadata.{key}", entry, "is neither labels nor annotations")
                else:
                    faults.labels(f"{variable}.metadata.{key}", entry, values=key == "labels")


def has_templates(spec: Spec) -> bool:
    """Whether a pod template is patched, of the part or of a pool."""
    pools = spec.get("pools")
    parts = [spec, *(pool for pool in pools if isinstance(pool, Mapping))] if isinstance(pools, list) else [spec]
    return any(part.get(key) for part in parts for key in ("pod_template", "serverapp_pod_template"))


def patch_faults(spec: Spec, faults: Faults, render: Callable[[], Any]) -> None:
    """Patches: their shape, and whether each fits an object that is rendered.

    Args:
        render: renders the spec; only called when everything else is right.
    """
    if not faults.sequence("patches", spec.get("patches"), hidden=True):
        return
    shape = len(faults.found)
    for number, patch in enumerate(spec.get("patches") or []):
        at = f"patches[{number}]"
        if not isinstance(patch, Mapping) or not isinstance(patch.get("target"), Mapping):
            faults.add(at, Shape(patch), "has no target with kind and name")
            continue
        for key in ("kind", "name"):
            if not patch["target"].get(key):
                faults.add(f"{at}.target", patch["target"], f"has no {key}")
        if not isinstance(patch.get("patch"), (Mapping, list)):
            faults.add(f"{at}.patch", Shape(patch.get("patch")), "is neither a mapping (merge) nor a list (JSON patch)")
        if patch.get("type"):
            faults.choice(f"{at}.type", patch["type"], TYPES)
    if len(faults.found) > shape or faults.found or not (spec.get("patches") or has_templates(spec)):
        return
    try:
        render()
    except PatchError as exc:
        faults.sentence(f"{faults.prefix}{exc}")
