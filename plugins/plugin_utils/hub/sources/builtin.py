# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates that are issued here: by the federation's own CA, or by one that the user provides and that is never stored."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from ...base.object_names import CA_SECRET, GATEWAY_SECRET
from ...pki import certificates, chain
from ..authority import Authority, trust_bundle
from ..made import SecretPlan
from ..wanted import Observed, Ref, Wanted, secret_ref
from .interface import BUILTIN, Plan

CA = CA_SECRET
SUBJECT = "superlink"
# The remedy where the CA's certificate cannot be read.
DAMAGED = "restore it from a backup, or delete the Secret: federated.flower.site, run three times, then changes to a new CA"


class Builtin:
    """The federation's own CA, with its key in a Secret of a separate namespace.

    It is created only if there is none: replacing it is a rotation with overlap.
    """

    name = BUILTIN

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """The CA and the certificate."""
        return [secret_ref(wanted.ca_namespace, CA), secret_ref(wanted.namespace, GATEWAY_SECRET)]

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """Create what is missing or invalid."""
        made = SecretPlan(wanted, seen)
        place = f"Secret {wanted.ca_namespace}/{CA}"
        authority = Authority.read(seen.entries(wanted.ca_namespace, CA))
        if authority is None and seen[secret_ref(wanted.ca_namespace, CA)] is not None:
            plan = Plan(GATEWAY_SECRET, place, place, place)
            plan.faults.append(f"the CA in {place} has no tls.crt and tls.key that can be read; {DAMAGED}")
            return plan
        if authority is None:
            authority = Authority(
                certificates.make_ca(certificates.ca_name(wanted.federation, "federation CA"), wanted.ca_lifetime)
            )
            made.write(wanted.ca_namespace, CA, authority.entries(), "it did not exist", "kubernetes.io/tls")
        of_no_use = _cannot_sign(authority.current)
        if of_no_use:
            plan = Plan(GATEWAY_SECRET, place, place, place)
            plan.faults.append(f"the CA in {place}: {of_no_use}")
            return plan
        return _issued(made, authority.current, authority.bundle, place, remembers=True)


def _cannot_sign(ca: certificates.Issued) -> str | None:
    """Why a CA of the federation's own signs nothing that sites accept, or None."""
    remedy = "federated.flower.rotate_certs replaces it, then run this again"
    try:
        own = chain.read(ca.certificate)[:1]
    except chain.ChainError as error:
        return f"tls.crt {error}; {DAMAGED}"
    if not ca.key.strip():
        return f"its private key is lost (tls.key is empty); {remedy}"
    try:
        chain.check_times(own, {"the controller": datetime.datetime.now(datetime.timezone.utc)})
    except chain.ChainError as error:
        return f"{error}; {remedy}"
    unusable = chain.unusable(ca.certificate, ca.key)
    return f"{unusable}; restore it from a backup; or {remedy}" if unusable else None


class HandedIn:
    """A CA whose certificate and key come from variables, for example from a vault. Its key is never stored."""

    name = BUILTIN

    def __init__(self, certificate: str, key: str, bundle: str = "") -> None:
        """Take the CA.

        Args:
            certificate: the CA's certificate, PEM; those of its issuers up to the root may follow.
            key: its private key, PEM.
            bundle: what sites trust, PEM; by default the root that follows the CA's certificate, or is it.
        """
        self._certificate, self._key, self._bundle = certificate, key, bundle

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """The certificate."""
        return [secret_ref(wanted.namespace, GATEWAY_SECRET)]

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """Issue a certificate when there is none or it is no longer good."""
        try:
            ca = handed_in(self._certificate, self._key)
            self._require_root(ca)
        except chain.ChainError as error:
            plan = Plan(GATEWAY_SECRET, "superlink_ca_certificate", "superlink_ca_key", "superlink_ca_bundle")
            plan.faults.append(str(error))
            return plan
        where = "superlink_ca_bundle" if self._bundle else "superlink_ca_certificate"
        trust = trust_bundle(self._bundle or _roots(ca.certificate))
        return _issued(SecretPlan(wanted, seen), ca, trust, where, remembers=False)

    def _require_root(self, ca: certificates.Issued) -> None:
        if not self._bundle and not _roots(ca.certificate):
            raise chain.ChainError(
                f"superlink_ca_certificate: {chain.subject(chain.read(ca.certificate)[0])} is not a root CA and none follows it, so it is not "
                "defined what sites trust; append the certificates of its issuers, or set the root CA in superlink_ca_bundle"
            )


def handed_in(certificate: str, key: str) -> certificates.Issued:
    """A CA from variables; without comments, and with line ends, which lookups omit.

    Raises:
        ChainError: it can issue nothing; the text has the variable and the remedy.
    """
    variable = "superlink_ca_certificate"
    try:
        own = chain.read(certificate)
        chain.check_times(own[:1], {"the controller": datetime.datetime.now(datetime.timezone.utc)})
        variable = "superlink_ca_key"
        key = certificates.standard(key)
        chain.check_key(own[0], key)
    except chain.ChainError as error:
        raise chain.ChainError(f"{variable} {error}: set the certificate of the CA and the private key that belongs to it") from error
    return certificates.Issued("".join(certificates.split(certificate)), key)


def _roots(pem: str) -> str:
    return "".join(part for part in certificates.split(pem) if chain.is_root(chain.read(part)[0]))


def _issued(made: SecretPlan, ca: certificates.Issued, trust: str, trust_where: str, *, remembers: bool) -> Plan:
    wanted = made.wanted
    # Sites that get a new address later, or apply its bundle later, still verify the host of the former one.
    ours = ca.certificate + trust
    leaf = made.leaf(GATEWAY_SECRET, ca, SUBJECT, wanted.names, wanted.lifetime, wanted.renew_before, ours)
    return Plan(
        secret=GATEWAY_SECRET,
        where=f"the certificate in Secret {wanted.namespace}/{GATEWAY_SECRET}",
        key_where=f"tls.key of Secret {wanted.namespace}/{GATEWAY_SECRET}",
        trust_where=trust_where,
        secrets=made.secrets,
        reasons=made.reasons,
        certificate=leaf.certificate,
        key=leaf.key,
        trust=trust,
        remembers=remembers,
    )
