# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates of a CA that is made here, with its key in a Secret of a namespace of its own."""

from __future__ import annotations

from collections.abc import Iterable

from ... import pki
from ...manifests.gateway import SECRET
from ..authority import Authority
from ..made import Made
from ..wanted import Ref, Seen, Wanted, secret_ref
from .base import BUILTIN, Plan

CA = "flower-ca"
SUBJECT = "superlink"


class Builtin:
    """A CA of the federation's own. It is made only where there is none: replacing it is a rotation with overlap."""

    name = BUILTIN

    def reads(self, wanted: Wanted, seen: Seen) -> Iterable[Ref]:
        """The CA and the certificate."""
        return [secret_ref(wanted.ca_namespace, CA), secret_ref(wanted.namespace, SECRET)]

    def plan(self, wanted: Wanted, seen: Seen) -> Plan:
        """Make what is missing or no longer good."""
        made = Made(wanted, seen)
        authority = Authority.read(seen.entries(wanted.ca_namespace, CA))
        if authority is None:
            authority = Authority(pki.make_ca(f"{wanted.federation} federation CA", wanted.ca_lifetime))
            made.write(wanted.ca_namespace, CA, authority.entries(), "there was none", "kubernetes.io/tls")
        leaf = made.leaf(SECRET, authority.current, SUBJECT, wanted.names, wanted.lifetime, wanted.renew_before)
        return Plan(
            secret=SECRET,
            objects=made.secrets,
            reasons=made.reasons,
            certificate=leaf.certificate,
            key=leaf.key,
            trust=authority.bundle,
            remembers=True,
            where=f"Secret {wanted.namespace}/{SECRET}",
            trust_where=f"Secret {wanted.ca_namespace}/{CA}",
        )
