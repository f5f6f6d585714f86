# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the certificates of the hub must be good for, what is there, and what is to be written.

A source says where the certificate comes from that the gateway serves to sites. It is pure: it returns which objects it must read, and from these
what must be written, what must still be waited for, and what sites must trust. Its caller does the rest:

    while there are references in C(source.reads(wanted, seen)) that are not in C(seen): read them (C(live_certificates))
    plan = source.plan(wanted, seen); refuse C(plan.faults); write C(plan.secrets) and C(plan.members)
    while C(plan.lacks): wait, read again, plan again

Internal certificates are always created (C(secret_plan)).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ..base.secret_data import entries, secret
from ..pki import certificates as pki
from ..pki import chain

SUBJECT = "superlink"  # of the gateway's certificate


@dataclass(frozen=True)
class Wanted:
    """What the hub's credentials must be good for.

    Attributes:
        federation: name of the federation, for labels and subjects.
        namespace: the SuperLink's namespace.
        ca_namespace: namespace of the CA keys, apart from the workload.
        names: DNS names and IP addresses for a certificate of the gateway.
        lifetime: of the gateway's certificate.
        ca_lifetime: of both CAs.
        needed: names in the gateway's certificate that sites verify -> who verifies them. From any source, it must cover
            them; they are among C(names).
        renew_before: how long before its expiry the gateway's certificate is renewed; None for half of its lifetime.
        name_variable: the variable that decides which name sites verify.
        lost_sites: a site whose own variables keep it from the gateway -> the fault, see C(certificate_checks.Routing).
    """

    federation: str
    namespace: str
    ca_namespace: str
    names: Sequence[str]
    lifetime: datetime.timedelta
    ca_lifetime: datetime.timedelta
    needed: Mapping[str, str] = field(default_factory=dict)
    renew_before: datetime.timedelta | None = None
    name_variable: str = "flower_server_name"
    lost_sites: Mapping[str, str] = field(default_factory=dict)


class Ref(NamedTuple):
    """One object of the hub's cluster, or with an empty C(name) all of its kind in the namespace."""

    api_version: str
    kind: str
    namespace: str
    name: str


def secret_ref(namespace: str, name: str) -> Ref:
    """The reference of a Secret."""
    return Ref("v1", "Secret", namespace, name)


class Observed(dict[Ref, Any]):
    """What was read: reference -> live object, None where there is none, a list for an empty name.

    Attributes:
        unserved: references whose kind the API server does not know.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.unserved: set[Ref] = set()

    def entries(self, namespace: str, name: str) -> dict[str, str]:
        """Decoded entries of a Secret with ASCII text; empty when there is no such Secret.

        Raises:
            KeyError: it was never read. It must not be treated as absent, since it would be recreated.
        """
        return entries(self[secret_ref(namespace, name)])


BUILTIN, CERT_MANAGER, EXISTING = SOURCES = ("builtin", "cert_manager", "existing")


@dataclass
class Plan:
    """The result of a source.

    Attributes:
        secret: name of the Secret that the gateway mounts (C(tls.crt), C(tls.key)), in the SuperLink's namespace.
        secrets: Secrets to write, complete.
        members: other objects to apply, part of the release (pruned and removed with it).
        reasons: why Secrets are written, sentences.
        faults: why it cannot continue, sentences with variable or object, value and remedy. Nothing may be written
            then.
        lacks: what must be waited for, as text; empty when C(certificate) and C(trust) are final.
        hopeless: waiting cannot help.
        certificate: what the gateway will serve, PEM, leaf first; empty while it lacks.
        key: its private key, for the cross-checks.
        trust: the CAs that sites must trust, PEM (C(authority.trust_bundle)); empty while it lacks.
        remembers: C(trust) has all that must be trusted during a rotation of the CA. Without it the CAs that were published
            before are kept beside it.
        where: the certificate's place, for messages; C(key_where) and C(trust_where) those of key and CAs.
        outside: someone else may change the Secret at any time.
    """

    secret: str
    where: str
    key_where: str
    trust_where: str
    secrets: list[dict[str, Any]] = field(default_factory=list, repr=False)
    members: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    lacks: str = ""
    hopeless: bool = False
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    trust: str = ""
    remembers: bool = False
    outside: bool = False


class Source(Protocol):
    """The source of the gateway's certificate."""

    #: One of C(SOURCES).
    name: str

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """What it must read, given what was read so far."""

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """The plan, given everything that it must read."""


def entries_of(issued: pki.Issued, ca: pki.Issued) -> dict[str, str]:
    """Entries of a certificate's Secret: C(tls.crt) (leaf and chain), C(tls.key) and C(ca.crt)."""
    return {"tls.crt": issued.certificate, "tls.key": issued.key, "ca.crt": pki.first(ca.certificate)}


@dataclass
class SecretPlan:
    """Collects what is created.

    Attributes:
        wanted: what it must be good for.
        seen: what exists already.
        secrets: Secrets to write, complete.
        certificates: public facts of every certificate (C(certificates.describe), with C(name) and C(namespace)).
        reasons: why each Secret is written, sentences.
        ca: the internal CA, where the plan is about that.
    """

    wanted: Wanted
    seen: Observed
    secrets: list[dict[str, Any]] = field(default_factory=list, repr=False)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    ca: pki.Issued = field(default=pki.Issued("", ""), repr=False)

    def write(self, namespace: str, name: str, data: Mapping[str, str], reason: str, kind: str = "Opaque") -> None:
        """Add a Secret, with the reason."""
        self.secrets.append(secret(self.wanted.federation, namespace, name, data, application="superlink", kind=kind))
        self.reasons.append(f"{name}: {reason}")

    def note(self, namespace: str, name: str, pem: str) -> None:
        """Record the facts of a certificate."""
        self.certificates.append({"name": name, "namespace": namespace, **pki.describe(pem)})

    def leaf(
        self,
        name: str,
        ca: pki.Issued,
        subject: str,
        names: Sequence[str],
        lifetime: datetime.timedelta,
        renew_before: datetime.timedelta | None = None,
        ours: str = "",
    ) -> pki.Issued:
        """A server certificate of C(ca) in a Secret of the SuperLink's namespace; created when the existing one is not valid.

        Its Secret has the entries of C(entries_of). C(ours) is PEM text of CAs: a new certificate keeps the names of one that they signed.
        """
        there = self.seen.entries(self.wanted.namespace, name)
        issued = pki.Issued(there.get("tls.crt", ""), there.get("tls.key", ""))
        if {"tls.crt", "tls.key", "ca.crt"} <= set(there):
            # Someone may have changed a part of the Secret by hand.
            unusable = chain.unusable(issued.certificate, issued.key)
            reason = unusable or pki.reissue_reason(
                issued.certificate, ca.certificate, names, renew_before=renew_before
            )
            if not unusable and any(chain.signed_by(issued.certificate, one) for one in pki.split(ours)):
                names = list(dict.fromkeys([*names, *pki.describe(issued.certificate)["names"]]))
        else:
            reason = "it did not exist"
        if reason:
            issued = pki.issue(ca, subject, names, lifetime)
            self.write(self.wanted.namespace, name, entries_of(issued, ca), reason)
        self.note(self.wanted.namespace, name, issued.certificate)
        return issued
