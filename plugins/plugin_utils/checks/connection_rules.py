# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pods connect to: peers of network policies, a site's HTTP proxy, the hub's tracking server and object storage. No message has a credential."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..base.addresses import is_ip
from ..base.names import CONTROLLER
from ..base.object_names import DIRECT, TUNNEL
from ..base.values import boolean, text
from ..manifests.network_policies import parse_port
from ..manifests.tracking import PASSWORD, TOKEN, USERNAME
from ..spec.hub_spec import PORTS
from ..spec.part_spec import SKUPPER
from .value_checks import Check, Problems, Rule, Shape, Spec, each, for_each, given, networks, pattern
from .value_checks import number as number_from

_LOGIN = {USERNAME, PASSWORD}

# Peers


def peers(found: Problems, variable: str, value: Any) -> None:
    """A list of peers: networks, or namespaces and pods by their labels, with ports."""
    for number, peer in enumerate(value or []):
        at = f"{variable}[{number}]"
        one = {key: entry for key, entry in peer.items() if entry not in (None, "", [], {})}
        for key in one.keys() - _PEER.keys():
            found.add(f"{at}.{key}", peer[key], f"is not one of {', '.join(_PEER)}")
        if not one.keys() & {"cidr", "namespace", "pod_selector"}:
            found.add(at, peer, 'selects nothing: set cidr, namespace or pod_selector (cidr "0.0.0.0/0" is every IPv4 address)')
        if "cidr" in one and one.keys() & {"namespace", "pod_selector"}:
            found.add(at, peer, "has a cidr and selectors; use two separate entries")
        if "except" in one and "cidr" not in one:
            found.add(f"{at}.except", peer["except"], "has no effect without cidr")
        found.check({key: check for key, check in _PEER.items() if key in one}, one, f"{at}.")
        _exceptions(found, f"{at}.except", one)


def _exceptions(found: Problems, variable: str, peer: Spec) -> None:
    """Kubernetes requires parts that are smaller than the whole."""
    try:
        whole: Any = ipaddress.ip_network(text(peer.get("cidr")))
        parts: list[Any] = [ipaddress.ip_network(text(entry)) for entry in peer.get("except") or []]
    except ValueError:
        return  # reported already
    for number, part in enumerate(parts):
        if part.version != whole.version or part == whole or not part.subnet_of(whole):
            found.add(f"{variable}[{number}]", peer["except"][number], f"is not part of {whole}")


def _port(found: Problems, variable: str, value: Any) -> None:
    try:
        parse_port(value)
    except ValueError as exc:
        found.add(variable, value, str(exc))


def _namespace(found: Problems, variable: str, value: Any) -> None:
    """A namespace by its name, or namespaces by labels."""
    if not isinstance(value, Mapping):
        found.label(variable, value)
    elif value:
        found.selector(variable, value)
    else:
        found.add(variable, value, "is empty; set the name of a namespace or labels")


_PEER: Mapping[str, Check] = {
    "cidr": Problems.network,
    "except": networks,
    "namespace": _namespace,
    "pod_selector": Problems.selector,
    "ports": each(_port),
}
#: Of hub, sites and the sites of a Skupper network.
POLICIES: Mapping[str, Check] = {"dns": peers, "monitoring_namespaces": each(_namespace)}

# A site's HTTP proxy

_ENTRY = r"(?!\.$)(?!\.\.)[-._a-zA-Z0-9]{1,253}"  # Kubernetes: apimachinery/pkg/util/validation, IsConfigMapKey
_entry = given(pattern(_ENTRY, "is not the name of an entry of a Secret: letters, digits, -, _ and ."))


def _proxy_address(found: Problems, variable: str, value: Any) -> None:
    if "@" in text(value):
        reason = "contains credentials, and is shown in the cluster; credentials are in a Secret, or in supernode_http_proxy_credentials"
        found.add(variable, Shape(value), reason)
    elif "://" in text(value):
        more = ". The connection to the proxy itself has no TLS here; what goes through it has" if text(value).lower().startswith("https:") else ""
        found.add(variable, value, f'is a URL; set "host:port"{more}')
    else:
        found.address(variable, value)


_PROXY: Mapping[str, Check] = {"address": _proxy_address, "cidrs": networks, "secret": given(Problems.subdomain)}
_PROXY_RULES = (
    Rule("address", lambda proxy: proxy["insecure"], "needs TLS: flower_insecure is true, and the proxy could read and change everything"),
    Rule("address", lambda proxy: not proxy["insecure"] and not proxy["sidecar"],
         "needs the sidecar, which goes through the proxy: set supernode_sidecar to true"),
    Rule("address", lambda proxy: proxy["connectivity"] == SKUPPER,
         "has no effect: SuperNodes call their site's Skupper router. skupper_link_proxy_secret is the proxy of its link"),
    Rule("password_key", lambda proxy: proxy.get("secret") and proxy.get("username_key") and proxy.get("username_key") == proxy.get("password_key"),
         "is the entry of the user name as well"),
    Rule("secret", lambda proxy: proxy.get("secret") and proxy["credentials"], "is set, and supernode_http_proxy_credentials as well; remove one of the two"),
    *for_each(("username_key", "password_key"), lambda proxy, key: proxy.get(key) and not proxy.get("secret"), "has no effect without http_proxy.secret"),
)


def http_proxy(found: Problems, spec: Spec) -> None:
    """A site's C(http_proxy), and the credentials beside it."""
    own, credentials = spec.get("http_proxy") or {}, spec.get("http_proxy_credentials") or {}
    if not own.get("address"):
        if own or credentials:
            found.add("http_proxy.address", own.get("address"), "is not set; set it, or remove the rest of the HTTP proxy")
        return
    found.check(_PROXY, own, "http_proxy.")
    found.check(dict.fromkeys(("username_key", "password_key") if own.get("secret") else (), _entry), own, "http_proxy.")
    beside = {
        "insecure": boolean(spec.get("insecure")),
        "sidecar": boolean(spec.get("sidecar", True)),
        "connectivity": spec.get("connectivity"),
        "credentials": credentials,
    }
    found.apply(_PROXY_RULES, {**own, "address": text(own["address"]).rpartition("@")[2], **beside}, "http_proxy.")
    if spec.get("superlink_cidrs"):
        found.add("superlink_cidrs", spec["superlink_cidrs"], "has no effect: SuperNodes call the HTTP proxy; use http_proxy.cidrs")
    parts = [("", spec), *((f"pools[{number}].", pool) for number, pool in enumerate(spec.get("pools") or []))]
    for at, part in parts:
        for key in ("init_containers", "extra_containers"):
            for index, one in enumerate(part.get(key) or []):
                if one.get("name") == TUNNEL:
                    found.add(f"{at}{key}[{index}].name", TUNNEL, "is the container that goes through the HTTP proxy; use another name")
    if not credentials:
        return
    names, source = sorted(map(text, credentials)), text(spec.get("key_source") or CONTROLLER)
    if set(names) != _LOGIN:
        found.add("http_proxy_credentials", names, "must have username and password; set both")
    for name in names if set(names) == _LOGIN else ():
        value, reason = text(credentials[name]), ""
        if not value or not (value.isascii() and value.isprintable()):
            reason = "is empty or has characters other than printable ASCII; it is sent in a header of HTTP"
        elif name == USERNAME and ":" in value:
            reason = "has a colon, which ends the user name in basic authentication (RFC 7617)"
        if reason:
            found.add(f"http_proxy_credentials.{name}", Shape(credentials[name]), reason)
    if source != CONTROLLER:
        found.add(
            "http_proxy_credentials",
            names,
            f"cannot reach the site: with flower_key_source {source} the control node writes no Secrets there. Create a Secret with "
            "username and password in the site's namespace, and name it in http_proxy.secret",
        )


# A SuperLink that is not in the inventory

_OTHER: Mapping[str, Check] = {
    "address": given(Problems.address), "ca": given(Problems.certificates), "ca_secret": given(Problems.subdomain), "server_name": given(Problems.subdomain),
    "first_partition": number_from(0),
}  # fmt: skip
_OTHER_RULES = (
    Rule("address", lambda own: not own.get("address"), 'is not set: set it to "host:port" of the SuperLink'),
    Rule("address", lambda own: own.get("address") and text(own["address"]) != text(own["superlink_address"]),
         "differs from supernode_superlink_address: remove that variable"),
    Rule("address", lambda own: own["connectivity"] == SKUPPER, "cannot be combined with flower_connectivity: skupper, which requires a hub"),
    Rule("address", lambda own: own["delivery"] not in ("", DIRECT),
         "cannot be combined with flower_delivery: {delivery}, which requires a hub: set flower_delivery to direct"),
    Rule("address", lambda own: own["mtls"], "cannot be combined with supernode_mtls: a hub of the inventory signs client certificates; set it to false"),
    Rule("ca", lambda own: own.get("ca") and own.get("ca_secret"), "is set, and ca_secret as well; remove one of the two"),
    Rule("ca", lambda own: not (own.get("ca") or own.get("ca_secret") or own["insecure"]),
         "is not set, nor is ca_secret: set one of them to the CA that signed the certificate of the SuperLink"),
    Rule("server_name", lambda own: _has_ip(text(own.get("address"))) and not (own.get("server_name") or own["insecure"]),
         "is not set, and address has no DNS name: set it to a DNS name in the certificate of the SuperLink"),
)


def _has_ip(address: str) -> bool:
    return bool(address) and is_ip(address.rpartition(":")[0].strip("[]"))


def other_superlink(found: Problems, spec: Spec) -> None:
    """A site's C(superlink)."""
    own = spec.get("superlink") or {}
    if not own:
        return
    found.check({key: check for key, check in _OTHER.items() if key in own}, own, "superlink.")
    beside: dict[str, Any] = {key: text(spec.get(key)) for key in ("superlink_address", "connectivity", "delivery")}
    beside |= {"insecure": boolean(spec.get("insecure")), "mtls": boolean(spec.get("mtls"))}
    found.apply(_OTHER_RULES, {**own, **beside}, "superlink.")


# The hub's tracking server

def _uri(examples: str, credentials: str) -> Check:
    """The check of the URI of a server. C(credentials): where those for it are."""

    def check(found: Problems, variable: str, value: Any) -> None:
        try:
            parts = urlsplit(text(value))
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            found.add(variable, Shape(value), f"is not a URI: {error}")
            return
        if parts.username is not None or parts.password is not None:
            found.add(variable, Shape(value), f"contains credentials, and is shown in the cluster; credentials are in {credentials}")
        elif parts.scheme not in PORTS or not host or any(one.isspace() for one in text(value)):
            found.add(variable, value, f"is not a URI like {examples}")
        elif parts.query or parts.fragment:
            found.add(variable, value, "has a query or fragment, which such servers do not accept")
        elif port == 0:
            found.add(variable, value, "has the port 0")
        else:
            found.name_or_ip(variable, host)

    return check


_KEYS = {f"{name}_key": name for name in (TOKEN, USERNAME, PASSWORD)}


def _keys(tracking: Spec) -> set[str]:
    return {name for key, name in _KEYS.items() if tracking.get(key)}


_TRACKING: Mapping[str, Check] = {
    "uri": _uri('"https://mlflow.example.com" or "http://10.0.0.7:5000/path"', "a Secret, or in superlink_tracking_credentials"),
    "secret": given(Problems.subdomain), "ca": Problems.certificates, "egress": peers,
}  # fmt: skip
_TRACKING_RULES = (
    Rule("secret", lambda own: own.get("secret") and own["credentials"], "is set, and superlink_tracking_credentials as well; remove one of the two"),
    Rule("secret", lambda own: own.get("secret") and _keys(own) not in ({TOKEN}, _LOGIN),
         "needs the names of its entries: either token_key, or username_key and password_key"),
    *for_each(_KEYS, lambda own, key: own.get(key) and not own.get("secret"), "has no effect without tracking.secret"),
)


def tracking(found: Problems, spec: Spec) -> None:
    """The hub's C(tracking), and the names of the credentials that are given beside it."""
    own, credentials = spec.get("tracking") or {}, set(spec.get("tracking_credentials") or [])
    if not own.get("uri"):
        if own or credentials:
            found.add("tracking.uri", own.get("uri"), "is not set; set it, or remove the rest of the tracking server")
        return
    if credentials and credentials not in ({TOKEN}, _LOGIN):
        found.add("tracking_credentials", sorted(credentials), "are neither a token nor username and password; set one of the two")
    found.check(_TRACKING, own, "tracking.")
    found.apply(_TRACKING_RULES, {**own, "credentials": credentials}, "tracking.")
    if own.get("ca") and not text(own["uri"]).lower().startswith("https:"):
        found.add("tracking.ca", text(own["ca"])[:40], "has no effect on a server without TLS; use https in tracking.uri")


# The hub's object storage

_PART = r"[A-Za-z0-9!_.*'()-]+"
_NEEDED = ("bucket", "secret")
_STORAGE: Mapping[str, Check] = {
    "endpoint": _uri('"https://s3.eu-central-1.amazonaws.com" or "https://10.0.0.7:9000"', "a Secret"),
    "bucket": given(pattern(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "is not the name of a bucket: 3 to 63 lowercase letters, digits, dots and hyphens")),
    "prefix": given(pattern(rf"(?!.*(?:^|/)\.\.?(?:/|$)){_PART}(?:/{_PART})*", "is not a prefix like hospital/models, without slashes at its ends")),
    "region": given(pattern(r"[A-Za-z0-9-]{1,63}", "is not the name of a region")),
    "secret": given(Problems.subdomain),
    "ca": Problems.certificates,
    "image": given(Problems.image),
    "egress": peers,
}
_STORAGE_RULES = (
    *for_each(_NEEDED, lambda own, key: not own.get(key), "is not set, and uploads of outputs need it"),
    Rule("endpoint", lambda own: not boolean(own["outputs"]), "has no effect: outputs_enabled is false; set it to true, or remove outputs_s3"),
    Rule("endpoint", lambda own: "://" in text(own["endpoint"]) and urlsplit(text(own["endpoint"])).path.strip("/"),
         "has a path; the name of the bucket is in outputs_s3.bucket"),
    Rule("ca", lambda own: own.get("ca") and not text(own["endpoint"]).lower().startswith("https:"), "has no effect on a server without TLS; use https"),
)


def storage(found: Problems, spec: Spec) -> None:
    """The hub's C(outputs_s3)."""
    own = spec.get("outputs_s3") or {}
    if own.get("endpoint"):
        found.check(_STORAGE, own, "outputs_s3.")
        found.apply(_STORAGE_RULES, {**own, "ca": text(own.get("ca"))[:40], "outputs": spec.get("outputs_enabled")}, "outputs_s3.")
    elif {key: value for key, value in own.items() if value not in (None, "", [], {})}:
        found.add("outputs_s3.endpoint", own.get("endpoint"), "is not set; set it, or remove the rest of outputs_s3")
