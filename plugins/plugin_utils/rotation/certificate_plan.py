# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the certificates of the hub must be good for, what there is, and what is to be written.

C(certificate_sources) plans the certificate that the gateway serves to sites, C(internal_secrets) the internal ones. Neither writes anything: their caller
refuses C(Plan.faults), writes C(secrets) and C(members), and waits and plans again while C(Plan.pending) says for what.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..base.secret_data import CREDENTIALS, entries, secret
from ..pki import certificates as pki
from ..pki import chain

if TYPE_CHECKING:
    from ..kube.client import Cluster

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


class LiveObjects:
    """Objects of the hub's cluster, each read once, when it is asked for.

    Args:
        hub: a connection.
        namespaces: where the collection's own Secrets are read with one request.
    """

    def __init__(self, hub: Cluster, namespaces: Iterable[str] = ()) -> None:
        self._hub = hub
        self._found: dict[tuple[str, ...], Any] = {}
        for namespace in namespaces:
            for one in hub.list("v1", "Secret", namespace, labels=f"app.kubernetes.io/component={CREDENTIALS}"):
                self._found["v1", "Secret", namespace, one["metadata"]["name"]] = one

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """An object, None where there is none."""
        which = api_version, kind, namespace, name
        if which not in self._found:
            self._found[which] = self._hub.get(api_version, kind, name, namespace)
        found: dict[str, Any] | None = self._found[which]
        return found

    def list_objects(self, api_version: str, kind: str, namespace: str) -> list[dict[str, Any]]:
        """All objects of a kind."""
        return self._hub.list(api_version, kind, namespace)

    def entries(self, namespace: str, name: str) -> dict[str, str]:
        """Decoded entries of a Secret with ASCII text; empty when there is no such Secret."""
        return entries(self.get("v1", "Secret", namespace, name))


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
        pending: what must be waited for, as text; empty when C(certificate) and C(trust) are final.
        hopeless: waiting cannot help.
        certificate: what the gateway will serve, PEM, leaf first; empty while it is pending.
        key: its private key, for the cross-checks.
        trust: the CAs that sites must trust, PEM (C(authority.trust_bundle)); empty while it is pending.
        trust_is_complete: C(trust) has all that must be trusted during a rotation of the CA. Without it the CAs that were published
            before are kept beside it.
        where: the certificate's place, for messages; C(key_where) and C(trust_where) those of key and CAs.
        managed_elsewhere: someone else may change the Secret at any time.
    """

    secret: str
    where: str
    key_where: str
    trust_where: str
    secrets: list[dict[str, Any]] = field(default_factory=list, repr=False)
    members: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    pending: str = ""
    hopeless: bool = False
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    trust: str = ""
    trust_is_complete: bool = False
    managed_elsewhere: bool = False


def entries_of(issued: pki.Issued, ca: pki.Issued) -> dict[str, str]:
    """Entries of a certificate's Secret: C(tls.crt) (leaf and chain), C(tls.key) and C(ca.crt)."""
    return {"tls.crt": issued.certificate, "tls.key": issued.key, "ca.crt": pki.first(ca.certificate)}


@dataclass
class SecretPlan:
    """Collects what is created.

    Attributes:
        wanted: what it must be good for.
        live: what exists already.
        secrets: Secrets to write, complete.
        certificates: public facts of every certificate (C(certificates.describe), with C(name) and C(namespace)).
        reasons: why each Secret is written, sentences.
        ca: the internal CA, where the plan is about that; C(client_ca) is that of the sites' client certificates.
    """

    wanted: Wanted
    live: LiveObjects = field(repr=False)
    secrets: list[dict[str, Any]] = field(default_factory=list, repr=False)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    ca: pki.Issued = field(default=pki.Issued("", ""), repr=False)
    client_ca: pki.Issued = field(default=pki.Issued("", ""), repr=False)

    def write(self, namespace: str, name: str, data: Mapping[str, str], reason: str, kind: str = "Opaque") -> None:
        """Add a Secret, with the reason."""
        self.secrets.append(secret(self.wanted.federation, namespace, name, data, application="superlink", kind=kind))
        self.reasons.append(f"{name}: {reason}")

    def new_ca(self, name: str, use: str, reason: str) -> pki.Issued:
        """Create a CA, with a Secret in the namespace of the CA keys. C(use): see C(certificates.ca_name)."""
        ca = pki.make_ca(pki.ca_name(self.wanted.federation, use), self.wanted.ca_lifetime)
        self.write(self.wanted.ca_namespace, name, {"tls.crt": ca.certificate, "tls.key": ca.key}, reason, "kubernetes.io/tls")
        return ca

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
        there = self.live.entries(self.wanted.namespace, name)
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
