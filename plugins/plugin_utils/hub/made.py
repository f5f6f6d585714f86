# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets with CAs, certificates and shared secrets: what is created when one is missing or invalid. Pure but for
randomness.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.secret_data import secret
from ..pki import certificates as pki
from ..pki import chain
from .wanted import Observed, Wanted


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
        certificates: public facts of every certificate (C(pki.describe), with C(name) and C(namespace)).
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
            reason = unusable or pki.reissue_reason(issued.certificate, ca.certificate, names, renew_before=renew_before)
            if not unusable and any(chain.signed_by(issued.certificate, one) for one in pki.split(ours)):
                names = list(dict.fromkeys([*names, *pki.describe(issued.certificate)["names"]]))
        else:
            reason = "it did not exist"
        if reason:
            issued = pki.issue(ca, subject, names, lifetime)
            self.write(self.wanted.namespace, name, entries_of(issued, ca), reason)
        self.note(self.wanted.namespace, name, issued.certificate)
        return issued
