# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of the fields of specifications, and what the specifications of all parts have in common.

A specification is a frozen dataclass, read once by its C(parse); what is behind it reads attributes and converts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from ..base.addresses import is_ip, split_address
from ..base.names import KEY_SOURCES, SITE
from ..base.platforms import values, with_platform_values
from ..base.values import Object, boolean, compact, integer, text
from ..pki import certificates

Kind = TypeVar("Kind", bound="Parsed")

SKUPPER = "skupper"
PROCESS = "process"
NOWHERE = "superlink.invalid:9092"  # stands in for an address that is found later
NOTHING = "-"  # stands in for a certificate that is found later

Self = TypeVar("Self", bound="PartSpec")
Flower = TypeVar("Flower", bound="FlowerSpec")


def _amounts(value: Any) -> Object:
    given = value or {}
    return compact({part: {k: text(v) for k, v in sorted((given.get(part) or {}).items())} for part in ("limits", "requests")})


def merge_env(*lists: Iterable[Mapping[str, Any]]) -> list[Object]:
    """Lists of EnvVar merged by name; a later entry replaces an earlier one in its place."""
    merged: dict[str, Object] = {}
    for entries in lists:
        for entry in entries:
            item = {"name": entry["name"]}
            if entry.get("valueFrom") is not None:
                item["valueFrom"] = entry["valueFrom"]
            else:
                item["value"] = text(entry.get("value"))
            merged[entry["name"]] = item
    return list(merged.values())


def _ordered(value: Any) -> list[Any]:
    """Entries of which the order has no effect, in one that depends on nothing but them."""
    return sorted(value or [], key=lambda entry: json.dumps(entry, sort_keys=True, default=text))


Text = Annotated[str, text]
Certificates = Annotated[str, lambda value: "".join(certificates.split(text(value)))]  # PEM as every program reads it
Flag = Annotated[bool, boolean]
Number = Annotated[int, integer]
MaybeNumber = Annotated[int | None, integer]
Limit = Annotated[int | None, lambda value: integer(value) or None]  # 0: none
Texts = Annotated[list[str], lambda value: [text(entry) for entry in value or []]]
Labels = Annotated[dict[str, str], lambda value: {key: text(entry) for key, entry in (value or {}).items()}]
Listed = Annotated[list[Any], lambda value: list(value or [])]
Unordered = Annotated[list[Any], _ordered]  # peers of policies, networks: what they allow adds up
UnorderedTexts = Annotated[list[str], lambda value: sorted(text(entry) for entry in value or [])]
Mapped = Annotated[Object, lambda value: dict(value or {})]
Amounts = Annotated[Object, _amounts]  # ResourceRequirements with every quantity as text: the API server stores text
Env = Annotated[list[Object], lambda value: merge_env(value or [])]


class Parsed:
    """Base of the dataclasses."""

    @classmethod
    @cache
    def _readers(cls) -> dict[str, Callable[[Any], Any]]:
        hints = get_type_hints(cls, include_extras=True)
        return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}

    @classmethod
    def parse(cls: type[Kind], given: Mapping[str, Any], **more: Any) -> Kind:
        """Read variables without faults. A field that is not set, or empty, has its default.

        Args:
            given: name of a field -> value, from Ansible. Other names are ignored.
            more: fields that are read already.

        Raises:
            ValueError: a number is not one.
        """
        fields = {
            name: value
            for name, read in cls._readers().items()
            if name in given and name not in more and (value := read(given[name])) not in (None, "")
        }
        return cls(**fields, **more)


def parsed(kind: type[Kind]) -> Callable[[Any], Kind]:
    """The reader of a mapping with the fields of a dataclass, which may be missing."""
    return lambda value: kind.parse(value or {})


@dataclass(frozen=True)
class PartSpec(Parsed):
    """One part of a federation, in one namespace of a cluster.

    A field has the name of the role variable without its prefix, so that a fault can name it. The roles' argument specs describe them.

    Attributes:
        platform: C(base/platforms.py); C(auto) or empty while it is not known.
        left_open: fields that have the platform's values, since no variable set them.
        skupper: whether Skupper's routers run in the namespace, as with the C(connectivity) skupper.
        dns: peers that every pod may use for DNS; see manifests/network_policies.py for the shape of peers.
    """

    federation: Text = ""
    namespace: Text = ""
    cluster: Text = ""
    version: Text = ""
    platform: Text = ""
    left_open: Texts = field(default_factory=list)
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    create_namespace: Flag = True
    pod_security: Text = ""
    connectivity: Text = ""
    skupper: Flag = False
    network_policies: Flag = True
    dns: Unordered = field(default_factory=list)
    monitoring_namespaces: Unordered = field(default_factory=list)

    @classmethod
    def parse(cls: type[Self], given: Mapping[str, Any], **more: Any) -> Self:
        """See C(Parsed). What is left to the platform has Kubernetes' values while the platform is not known."""
        return super().parse(with_platform_values(given), **more)

    def on(self: Self, platform: str) -> Self:
        """The same on a platform that was found."""
        return replace(self, platform=platform, **values(platform, self.left_open))

    @property
    def has_routers(self) -> bool:
        """Whether Skupper's routers run in the namespace."""
        return self.skupper or self.connectivity == SKUPPER

    @property
    def closes_namespace(self) -> bool:
        """Whether a policy isolates all pods of the namespace; not where the namespace is someone else's."""
        return self.network_policies and self.create_namespace

    def beside(self: Self, namespace: str) -> Self:
        """The same for another namespace of its cluster, where no router runs."""
        if namespace == self.namespace:
            return self
        return replace(self, namespace=namespace, skupper=False, connectivity="")


@dataclass(frozen=True)
class FlowerSpec(PartSpec):
    """A part whose pods run Flower.

    Attributes:
        run_as_user: None to leave the field out, as C(run_as_group) and C(fs_group).
        superlink_address: "host:port" to which SuperNodes connect, or empty while it is not known.
        server_name: name that the gateway's certificate is verified against, or empty for the default.
        ca_bundle: PEM text that verifies the gateway's certificate, or empty while there is none.
    """

    region: Text = ""
    insecure: Flag = False
    isolation: Text = PROCESS
    image_registry: Text = "docker.io"
    image_pull_policy: Text = ""
    image_pull_secrets: Texts = field(default_factory=list)
    run_as_user: MaybeNumber = None
    run_as_group: MaybeNumber = None
    fs_group: MaybeNumber = None
    log_level: Text = ""
    time_zone: Text = ""
    superlink_address: Text = ""
    server_name: Text = ""
    ca_bundle: Certificates = ""
    patches: Listed = field(default_factory=list)
    key_source: Text = KEY_SOURCES[0]

    @property
    def makes_keys(self) -> bool:
        """Whether it is a site that makes its keys itself."""
        return self.key_source == SITE

    def complete(self: Flower) -> Flower:
        """With stand-ins for what is found later."""
        return replace(self, superlink_address=self.superlink_address or NOWHERE, ca_bundle=self.ca_bundle or NOTHING)

    @property
    def is_process(self) -> bool:
        """Whether apps run in SuperExecs."""
        return self.isolation == PROCESS

    @property
    def fixed_name(self) -> str:
        """DNS name in every certificate of the gateway, independent of its address.

        It is not resolved. A sidecar verifies it when the hub's address is an IP: HAProxy compares names with DNS
        entries of a certificate only, never with IP entries.
        """
        return f"superlink.{self.federation}.flower.internal"

    @property
    def verified_name(self) -> str:
        """Name (also the SNI) against which a site's sidecar verifies the gateway's certificate.

        The C(server_name) if there is one; else the host of the address, as a router that passes TLS through finds its backend by it;
        for an IP address, the fixed name.
        """
        host = split_address(self.superlink_address)[0] if self.superlink_address else ""
        return self.server_name or (self.fixed_name if not host or is_ip(host) else host)
