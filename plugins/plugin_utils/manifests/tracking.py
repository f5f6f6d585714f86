# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way of ServerApps to a tracking server: environment that MLflow's client reads, and the CA that it trusts.

Credentials are entries of a Secret: the user's, or the one that the action C(certificates) writes from variables. The CA is for MLflow
alone, so that whatever else an app connects to is verified as before.
"""

from __future__ import annotations

from ..base.addresses import is_ip
from ..base.object_names import TRACKING_SECRET
from ..base.values import Object
from ..spec.hub_spec import HubSpec
from .common_objects import config_map
from .pod import config_volume, mount

CA_CONFIG = VOLUME = "superlink-tracking-ca"
ROOT = "/tracking-ca"
PREFIX = "MLFLOW_TRACKING_"  # of the variables in the environment
TOKEN, USERNAME, PASSWORD = "token", "username", "password"
_CA_FILE = "ca.crt"
_APPLICATION, _COMPONENT = "superlink", "tracking"


def objects(spec: HubSpec) -> list[Object]:
    """The ConfigMap with the CA."""
    if not _has_ca(spec):
        return []
    return [config_map(spec, CA_CONFIG, _APPLICATION, {_CA_FILE: spec.tracking.ca}, _COMPONENT)]


def env(spec: HubSpec) -> list[Object]:
    """Environment of the container that computes."""
    own = spec.tracking
    if not own.uri:
        return []
    found: list[Object] = [{"name": f"{PREFIX}URI", "value": own.uri}]
    for name, (secret, key) in _entries(spec).items():
        found.append({"name": f"{PREFIX}{name.upper()}", "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}})
    if own.ca:
        found.append({"name": f"{PREFIX}SERVER_CERT_PATH", "value": f"{ROOT}/{_CA_FILE}"})
    return found


def mounts(spec: HubSpec) -> list[Object]:
    """Mounts of the container that computes."""
    return [mount(VOLUME, ROOT)] if _has_ca(spec) else []


def volumes(spec: HubSpec) -> list[Object]:
    """Volumes of its pod."""
    return [config_volume(VOLUME, CA_CONFIG)] if _has_ca(spec) else []


def service_namespace(host: str) -> str:
    """The namespace of a Service, if a name of a host is that of one: C(NAME.NAMESPACE.svc), also with the usual domain; otherwise empty."""
    name, _dot, rest = host.removesuffix(".cluster.local").partition(".")
    namespace, _dot, kind = rest.partition(".")
    return namespace if name and kind == "svc" else ""


def opens_everything(spec: HubSpec) -> bool:
    """Whether policies let the ServerApp connect to any address, because that of the server is not known."""
    own = spec.tracking
    if not own.uri or not spec.network_policies or own.egress:
        return False
    host, _port = own.endpoint
    return not is_ip(host) and not service_namespace(host)


def _has_ca(spec: HubSpec) -> bool:
    return bool(spec.tracking.uri and spec.tracking.ca)


def _entries(spec: HubSpec) -> dict[str, tuple[str, str]]:
    """Credential -> its Secret and entry."""
    own = spec.tracking
    if not own.secret:
        return {name: (TRACKING_SECRET, name) for name in (TOKEN, USERNAME, PASSWORD) if name in spec.tracking_credentials}
    keys = {TOKEN: own.token_key, USERNAME: own.username_key, PASSWORD: own.password_key}
    return {name: (own.secret, key) for name, key in keys.items() if key}
