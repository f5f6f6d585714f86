# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hub's own Secrets: which are needed, and which must be created. Pure but for randomness.

These are its internal certificates and shared secrets, the CA of the sites' client certificates, the secrets of the port for metrics, and credentials
for the tracking server. The certificate for sites comes from C(certificate_sources). Private keys go from here into Secrets and never into an Ansible variable.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.names import METRICS, METRICS_CONTROL
from ..base.object_names import (
    INTERNAL_CA_SECRET,
    INTERNAL_SECRET,
    RUNTIME_SECRET,
    SUPERLINK_SUPEREXEC_SECRET,
    TRACKING_SECRET,
)
from ..base.secret_data import entries, secret
from ..base.values import text
from ..pki import certificates, chain, keypairs, library
from ..spec.hub_spec import HubSpec
from . import clients
from .certificate_plan import LiveObjects, SecretPlan, Wanted, entries_of

INTERNAL_CA = INTERNAL_CA_SECRET
INTERNAL = INTERNAL_SECRET
SUPEREXEC = SUPERLINK_SUPEREXEC_SECRET

# Only containers of the hub's own namespace use internal certificates, and renewing them restarts SuperLink.
INTERNAL_LIFETIME = datetime.timedelta(days=3650)


def plan(wanted: Wanted, live: LiveObjects) -> SecretPlan:
    """Compare existing Secrets with the wanted ones; create what is missing or invalid.

    The CA of the sites' client certificates is created only if there is none.

    Raises:
        ClusterError: someone has damaged that.
    """
    library.require()
    result = SecretPlan(wanted, live)
    there = live.entries(wanted.ca_namespace, INTERNAL_CA)
    result.ca = certificates.Issued(there.get("tls.crt", ""), there.get("tls.key", ""))
    reason = chain.unusable(result.ca.certificate, result.ca.key) if {"tls.crt", "tls.key"} <= set(there) else "it did not exist"
    if reason:
        result.ca = result.new_ca(INTERNAL_CA, "internal CA", reason)
    result.client_ca = clients.client_ca_of(live.get("v1", "Secret", wanted.ca_namespace, clients.CA)) or result.new_ca(
        clients.CA, "client CA", "it did not exist"
    )
    result.note(wanted.ca_namespace, INTERNAL_CA, result.ca.certificate)
    result.note(wanted.ca_namespace, clients.CA, result.client_ca.certificate)
    for name, (subject, names) in _leafs(wanted.namespace).items():
        result.leaf(name, result.ca, subject, names, INTERNAL_LIFETIME)
    if "secret" not in live.entries(wanted.namespace, SUPEREXEC):
        result.write(wanted.namespace, SUPEREXEC, {"secret": keypairs.make_secret()}, "it did not exist")
    return result


def recreated(ca: certificates.Issued, namespace: str) -> dict[str, dict[str, str]]:
    """Secret -> entries of everything that can be exchanged when the hub's pods restart; C(ca), the internal CA, stays."""
    fresh = {
        name: entries_of(certificates.issue(ca, subject, names, INTERNAL_LIFETIME), ca)
        for name, (subject, names) in _leafs(namespace).items()
    }
    return {**fresh, SUPEREXEC: {"secret": keypairs.make_secret()}}


def _leafs(namespace: str) -> dict[str, tuple[str, list[str]]]:
    """Secret -> subject and names of an internal certificate."""
    return {
        # a SuperExec that SuperLink starts itself connects to 127.0.0.1.
        INTERNAL: ("superlink internal", ["localhost", "127.0.0.1"]),
        RUNTIME_SECRET: ("superlink runtime", ["superlink-runtime", f"superlink-runtime.{namespace}.svc"]),
    }


_ENTRIES = {"tls.crt", "tls.key", "ca.crt", "token"}


def metrics_secrets(
    spec: HubSpec, ca: certificates.Issued, live: Mapping[str, Any] | None, owner: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The Secret of the port for metrics, if it must be written; none otherwise.

    C(live) is the Secret as it is, C(owner) the live ConfigMap C(superlink-metrics): None in check mode, before the first deployment.
    """
    if not spec.metrics.enabled:
        return []
    there = entries(live)
    names = [METRICS_CONTROL, f"{METRICS_CONTROL}.{spec.namespace}.svc"]
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": METRICS, "uid": owner["metadata"]["uid"]}] if owner else []
    is_good = set(there) >= _ENTRIES and not (
        chain.unusable(there["tls.crt"], there["tls.key"])
        or certificates.reissue_reason(there["tls.crt"], ca.certificate, names)
    )
    if is_good and (not owners or (live or {})["metadata"].get("ownerReferences") == owners):
        return []
    if not is_good:
        leaf = certificates.issue(ca, "superlink metrics", names, INTERNAL_LIFETIME)
        there = {**entries_of(leaf, ca), "token": keypairs.make_secret()}
    wanted = secret(spec.federation, spec.namespace, METRICS, {name: there[name] for name in _ENTRIES}, application=METRICS)
    if owners:
        wanted["metadata"]["ownerReferences"] = owners
    return [wanted]


TRACKING_WORDS = (
    f"Secret {TRACKING_SECRET} has new credentials. The ServerApp's pod uses them after a restart; restart it when no run is active, for "
    "example with kubectl rollout restart"
)


def tracking_secrets(spec: HubSpec, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The Secret with credentials (name -> value) for the tracking server; none without them.

    Raises:
        ClusterError: a value cannot be sent to a server. The value is not part of the message.
    """
    values = {name: text(given.get(name)) for name in spec.tracking_credentials}
    for name, value in values.items():
        if not value or not (value.isascii() and value.isprintable()):
            raise ClusterError(
                f"superlink_tracking_credentials: {name} is empty or contains characters other than printable ASCII; MLflow sends it in a "
                "header of HTTP"
            )
    if not spec.tracking.uri or not values:
        return []
    return [secret(spec.federation, spec.namespace, TRACKING_SECRET, values, application="superlink")]


def is_tracking_changed(objects: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the Secret was there before, with other content."""
    return any((one["kind"], one["name"], one["change"]) == ("Secret", TRACKING_SECRET, "changed") for one in objects)
