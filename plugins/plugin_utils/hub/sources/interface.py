# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface of a certificate source: the origin of the certificate that the gateway serves to sites.

A source is pure: it returns which objects it must read, and from these what must be written, what must still be
waited for, and what sites must trust. Its caller (the action C(certificates), the preflight) does the rest:

    while there are references in C(source.reads(wanted, seen)) that are not in C(seen): read them
    plan = source.plan(wanted, seen); refuse C(plan.faults); write C(plan.secrets) and C(plan.members)
    while C(plan.lacks): wait, read again, plan again

It covers only the gateway's server certificate. Internal certificates are always created (credentials.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..wanted import Observed, Ref, Wanted

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
