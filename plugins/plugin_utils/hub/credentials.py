# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hub's certificates and shared secrets: which there must be, and which have to be made. Pure but for randomness.

Private halves go from here into Secrets and never into an Ansible variable.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import pki
from ..secrets import CREDENTIALS, entries, secret

CA = "flower-ca"
INTERNAL_CA = "flower-internal-ca"
GATEWAY = "superlink-gateway-tls"
INTERNAL = "superlink-internal"
RUNTIME = "superlink-runtime-tls"
SUPEREXEC = "superlink-superexec"
__all__ = ["CREDENTIALS", "UNKNOWN_ADDRESS", "Credentials", "Wanted", "plan"]

# Shown by check mode while the hub's objects, and so its address, do not exist.
UNKNOWN_ADDRESS = "not-known-yet.invalid:9092"

# Internal certificates are seen by containers of the hub's own namespace only, and renewing them restarts SuperLink.
INTERNAL_LIFETIME = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class Wanted:
    """What the hub's credentials must be good for.

    Attributes:
        federation: name of the federation, for labels and subjects.
        namespace: the SuperLink's namespace.
        ca_namespace: namespace of the CA keys, apart from the workload.
        names: DNS names and IP addresses that sites use.
        lifetime: of the gateway's certificate.
        ca_lifetime: of both CAs.
    """

    federation: str
    namespace: str
    ca_namespace: str
    names: Sequence[str]
    lifetime: datetime.timedelta
    ca_lifetime: datetime.timedelta


@dataclass
class Credentials:
    """Outcome of C(plan).

    Attributes:
        secrets: Secrets that have to be written, complete.
        ca_bundle: what sites trust, PEM.
        certificates: public facts of every certificate (C(pki.describe), with C(name) and C(namespace)).
        reasons: why each of them was made, sentences.
    """

    secrets: list[dict[str, Any]] = field(default_factory=list)
    ca_bundle: str = ""
    certificates: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def plan(wanted: Wanted, live: Mapping[tuple[str, str], Mapping[str, Any]]) -> Credentials:
    """Compare the Secrets that are there with what is wanted; make what is missing or no longer good.

    A CA is made only where there is none: replacing one is a rotation with overlap, never a side effect.

    Args:
        wanted: what the credentials must be good for.
        live: (namespace, name) -> live Secret.
    """
    pki.require()
    result = Credentials()
    ca = _ca(result, wanted, live, CA, f"{wanted.federation} federation CA")
    internal_ca = _ca(result, wanted, live, INTERNAL_CA, f"{wanted.federation} internal CA")
    result.ca_bundle = ca.certificate
    internal_names = ["localhost", "127.0.0.1"]  # the latter is what a SuperExec that SuperLink starts itself dials
    runtime_names = ["superlink-runtime", f"superlink-runtime.{wanted.namespace}.svc"]
    _leaf(result, wanted, live, GATEWAY, ca, "superlink", wanted.names, wanted.lifetime)
    _leaf(result, wanted, live, INTERNAL, internal_ca, "superlink internal", internal_names, INTERNAL_LIFETIME)
    _leaf(result, wanted, live, RUNTIME, internal_ca, "superlink runtime", runtime_names, INTERNAL_LIFETIME)
    if "secret" not in entries(live.get((wanted.namespace, SUPEREXEC))):
        _write(result, wanted, wanted.namespace, SUPEREXEC, {"secret": pki.make_secret()}, "there was none")
    return result


def _write(
    result: Credentials, wanted: Wanted, namespace: str, name: str, data: Mapping[str, str], reason: str, kind: str = "Opaque"
) -> None:
    result.secrets.append(secret(wanted.federation, namespace, name, data, application="superlink", kind=kind))
    result.reasons.append(f"{name}: {reason}")


def _note(result: Credentials, namespace: str, name: str, pem: str) -> None:
    result.certificates.append({"name": name, "namespace": namespace, **pki.describe(pem)})


def _ca(
    result: Credentials, wanted: Wanted, live: Mapping[tuple[str, str], Mapping[str, Any]], name: str, subject: str
) -> pki.Issued:
    there = entries(live.get((wanted.ca_namespace, name)))
    if {"tls.crt", "tls.key"} <= set(there):
        ca = pki.Issued(there["tls.crt"], there["tls.key"])
    else:
        ca = pki.make_ca(subject, wanted.ca_lifetime)
        data = {"tls.crt": ca.certificate, "tls.key": ca.key}
        _write(result, wanted, wanted.ca_namespace, name, data, "there was none", "kubernetes.io/tls")
    _note(result, wanted.ca_namespace, name, ca.certificate)
    return ca


def _leaf(
    result: Credentials,
    wanted: Wanted,
    live: Mapping[tuple[str, str], Mapping[str, Any]],
    name: str,
    ca: pki.Issued,
    subject: str,
    names: Sequence[str],
    lifetime: datetime.timedelta,
) -> None:
    there = entries(live.get((wanted.namespace, name)))
    certificate = there.get("tls.crt", "")
    complete = {"tls.crt", "tls.pem", "tls.key", "ca.crt"} <= set(there)
    reason = pki.reissue_reason(certificate, ca.certificate, names) if complete else "there was none"
    if reason:
        leaf = pki.issue(ca, subject, list(names), lifetime)
        certificate = leaf.certificate
        data = {"tls.crt": leaf.certificate, "tls.key": leaf.key, "tls.pem": leaf.pem, "ca.crt": ca.certificate}
        _write(result, wanted, wanted.namespace, name, data, reason)
    _note(result, wanted.namespace, name, certificate)
