# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the gateway's certificate comes from: it is issued here, or exists already; from cert-manager see C(cert_manager).

It is issued by the federation's own CA, or by one that the user provides and that is never stored. It exists in a Secret of the hub's namespace, or
as values, which may come from a vault.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from ..base.object_names import CA_SECRET, GATEWAY_SECRET
from ..manifests import certificate, patches
from ..pki import certificates, chain
from ..spec.hub_spec import HubSpec
from .authority import DAMAGED, Authority, trust_bundle
from .cert_manager import CertManager
from .certificate_plan import (
    BUILTIN,
    CERT_MANAGER,
    EXISTING,
    SUBJECT,
    Observed,
    Plan,
    Ref,
    SecretPlan,
    Source,
    Wanted,
    secret_ref,
)


class Builtin:
    """The federation's own CA, with its key in a Secret of a separate namespace.

    It is created only if there is none: replacing it is a rotation with overlap.
    """

    name = BUILTIN

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """The CA and the certificate."""
        return [secret_ref(wanted.ca_namespace, CA_SECRET), secret_ref(wanted.namespace, GATEWAY_SECRET)]

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """Create what is missing or invalid."""
        made = SecretPlan(wanted, seen)
        place = f"Secret {wanted.ca_namespace}/{CA_SECRET}"
        authority = Authority.read(seen.entries(wanted.ca_namespace, CA_SECRET))
        if authority is None and seen[secret_ref(wanted.ca_namespace, CA_SECRET)] is not None:
            plan = Plan(GATEWAY_SECRET, place, place, place)
            plan.faults.append(f"the CA in {place} has no tls.crt and tls.key that can be read; {DAMAGED}")
            return plan
        if authority is None:
            authority = Authority(
                certificates.make_ca(certificates.ca_name(wanted.federation, "federation CA"), wanted.ca_lifetime)
            )
            made.write(wanted.ca_namespace, CA_SECRET, authority.entries(), "it did not exist", "kubernetes.io/tls")
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
        raise chain.ChainError(
            f"{variable} {error}: set the certificate of the CA and the private key that belongs to it"
        ) from error
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


class ExistingSecret:
    """A Secret that someone else keeps: C(tls.crt), C(tls.key), and C(ca.crt) unless there is a bundle."""

    name = EXISTING

    def __init__(self, secret: str, bundle: str = "") -> None:
        """Set the name of the Secret, and what sites trust (PEM) if it is not the Secret's C(ca.crt)."""
        self._secret, self._bundle = secret, bundle

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """The Secret."""
        return [secret_ref(wanted.namespace, self._secret)]

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """Nothing is written."""
        place = f"Secret {wanted.namespace}/{self._secret}"
        own = f"ca.crt of {place}"
        plan = Plan(
            self._secret, f"tls.crt of {place}", f"tls.key of {place}", "superlink_ca_bundle" if self._bundle else own
        )
        plan.outside = True
        if seen[secret_ref(wanted.namespace, self._secret)] is None:
            plan.faults.append(
                f"superlink_certificate_secret: there is no Secret {self._secret!r} in namespace {wanted.namespace}; create "
                "it with tls.crt and tls.key, or correct the name"
            )
            return plan
        there = seen.entries(wanted.namespace, self._secret)
        missing = [name for name in ("tls.crt", "tls.key") if not there.get(name)]
        if missing:
            plan.faults.append(
                f"superlink_certificate_secret: {place} has no {' and no '.join(missing)} in PEM; add it"
            )
            return plan
        trust = self._bundle or there.get("ca.crt", "")
        if not trust.strip():
            plan.faults.append(_no_trust(f"{place} has no ca.crt"))
            return plan
        spoilt = [name for name in ("tls.crt", "tls.key") if not certificates.is_readable(there[name])]
        if spoilt:
            plan.faults.append(
                f"superlink_certificate_secret: {' and '.join(spoilt)} of {place} cannot be read by the gateway, which reads it as it is: each "
                "line from BEGIN to END must be a line of its own, without blanks before it; store it in that form"
            )
        plan.certificate, plan.key, plan.trust = there["tls.crt"], there["tls.key"], trust_bundle(trust) or trust
        return plan


class ExistingValues:
    """Certificate and key themselves; the Secret is kept here."""

    name = EXISTING

    def __init__(self, certificate: str, key: str, bundle: str) -> None:
        """Take certificate (with its chain behind it), private key and what sites trust, all PEM."""
        self._certificate, self._key, self._bundle = certificate, key, bundle

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """The Secret that was written before."""
        return [secret_ref(wanted.namespace, GATEWAY_SECRET)]

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """Write the Secret when it differs from the variables. Their values are checked before (checks.py)."""
        plan = Plan(GATEWAY_SECRET, "superlink_certificate", "superlink_certificate_key", "superlink_ca_bundle")
        if not self._bundle:
            plan.faults.append(_no_trust("superlink_ca_bundle is empty"))
            return plan
        plan.certificate, plan.key, plan.trust = map(
            certificates.standard, (self._certificate, self._key, trust_bundle(self._bundle))
        )
        data = {"tls.crt": "".join(certificates.split(plan.certificate)), "tls.key": plan.key, "ca.crt": plan.trust}
        there = seen.entries(wanted.namespace, GATEWAY_SECRET)
        if any(there.get(name) != value for name, value in data.items()) and all(map(str.isascii, data.values())):
            made = SecretPlan(wanted, seen)
            made.write(wanted.namespace, GATEWAY_SECRET, data, "it differed" if there else "it did not exist")
            plan.secrets, plan.reasons = made.secrets, made.reasons
        return plan


def _no_trust(reason: str) -> str:
    return f"{reason}, so it is not defined what sites trust; set the root CA of the certificate in superlink_ca_bundle"


def choose(spec: HubSpec, given: Mapping[str, str]) -> Source:
    """The source.

    Args:
        spec: the superlink spec; C(ca_bundle) is the user's.
        given: C(ca_certificate), C(ca_key), C(certificate) and C(certificate_key), which are in no spec.
    """
    source, bundle = spec.certificates_source, spec.ca_bundle
    if source == CERT_MANAGER:
        rendered = patches.apply(certificate.objects(spec), spec.patches, partial=True)
        return CertManager(spec, rendered[0] if rendered else None, bundle)
    if source == EXISTING:
        values = (given["certificate"], given["certificate_key"])
        if spec.certificate_secret and not any(values):
            return ExistingSecret(spec.certificate_secret, bundle)
        if all(values) and not spec.certificate_secret:
            return ExistingValues(*values, bundle)
        return Contradiction(
            source,
            "superlink_certificates_source: 'existing' needs either superlink_certificate_secret, the name of a Secret, or "
            "both superlink_certificate and superlink_certificate_key",
        )
    if given["ca_certificate"] or given["ca_key"]:
        return HandedIn(given["ca_certificate"], given["ca_key"], bundle)
    if bundle:
        return Contradiction(
            "builtin",
            "superlink_ca_bundle has no effect on the federation's own CA, which defines itself what sites trust; remove it, "
            "or select another superlink_certificates_source",
        )
    return Builtin()


class Contradiction:
    """Variables that do not go together."""

    def __init__(self, name: str, fault: str) -> None:
        """Set the name of the selected source, and why it is not possible."""
        self.name, self._fault = name, fault

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """Nothing."""
        return []

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """The fault."""
        return Plan("", "", "", "", faults=[self._fault])
