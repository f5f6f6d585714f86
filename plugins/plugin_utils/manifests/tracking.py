# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way of ServerApps to a tracking server: environment that MLflow's client reads, and the CA that it trusts.

Credentials are entries of a Secret: the user's, or the one that C(rotation/internal_secrets.py) writes from variables. The CA is for MLflow
alone, so that whatever else an app connects to is verified as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.addresses import is_ip
from ..base.object_names import TRACKING_SECRET
from ..base.values import Object
from ..spec.hub_spec import HubSpec, host_and_port
from .common_objects import config_map
from .pod import AppParts, config_volume, mount

CA_CONFIG = VOLUME = "superlink-tracking-ca"
ROOT = "/tracking-ca"
PREFIX = "MLFLOW_TRACKING_"  # of the variables in the environment
TOKEN, USERNAME, PASSWORD = "token", "username", "password"
_CA_FILE = "ca.crt"


def objects(spec: HubSpec) -> list[Object]:
    """The ConfigMap with the CA."""
    return [config_map(spec, CA_CONFIG, "superlink", {_CA_FILE: spec.tracking.ca}, "tracking")] if spec.tracking.uri and spec.tracking.ca else []


def app_parts(spec: HubSpec) -> AppParts:
    """What tracking adds to the container that computes."""
    own = spec.tracking
    if not own.uri:
        return AppParts()
    keys = {TOKEN: own.token_key, USERNAME: own.username_key, PASSWORD: own.password_key}
    if not own.secret:
        keys = {name: name if name in spec.tracking_credentials else "" for name in keys}
    env: list[Object] = [{"name": f"{PREFIX}URI", "value": own.uri}]
    for name, key in keys.items():
        if key:
            env.append({"name": f"{PREFIX}{name.upper()}", "valueFrom": {"secretKeyRef": {"name": own.secret or TRACKING_SECRET, "key": key}}})
    if not own.ca:
        return AppParts(env=env)
    env.append({"name": f"{PREFIX}SERVER_CERT_PATH", "value": f"{ROOT}/{_CA_FILE}"})
    return AppParts(env, [mount(VOLUME, ROOT)], [config_volume(VOLUME, CA_CONFIG)])


def service_namespace(host: str) -> str:
    """The namespace of a Service, if a name of a host is that of one: C(NAME.NAMESPACE.svc), also with the usual domain; otherwise empty."""
    name, _dot, rest = host.removesuffix(".cluster.local").partition(".")
    namespace, _dot, kind = rest.partition(".")
    return namespace if name and kind == "svc" else ""


def opens_everything(spec: HubSpec, uri: str, egress: Sequence[Any]) -> bool:
    """Whether policies let the ServerApp connect to any address, because that of a server is not known. C(egress): peers that are given for it."""
    if not uri or not spec.network_policies or egress:
        return False
    host, _port = host_and_port(uri)
    return not is_ip(host) and not service_namespace(host)
