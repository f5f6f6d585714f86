# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the gateway's certificate comes from: it is issued here, or exists already; from cert-manager see C(cert_manager).

It is issued by the federation's own CA, or by one that the user provides and that is never stored. It exists in a Secret of the hub's namespace, or
as values, which may come from a vault.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from ..base.object_names import CA_SECRET, CERT_MANAGER, EXISTING, GATEWAY_SECRET
from ..pki import certificates, chain
from ..spec.hub_spec import HubSpec
from . import cert_manager
from .authority import DAMAGED, Authority, trust_bundle
from .certificate_plan import SUBJECT, LiveObjects, Plan, SecretPlan, Wanted


def plan(spec: HubSpec, given: Mapping[str, str], wanted: Wanted, live: LiveObjects) -> Plan:
    """What becomes of the gateway's certificate.

    Args:
        spec: the hub, with the address and the names that it gets.
        given: C(ca_certificate), C(ca_key), C(certificate) and C(certificate_key), which are in no spec.
        wanted: what it must be good for.
        live: what there is.
    """
    bundle, values = spec.ca_bundle, (given["certificate"], given["certificate_key"])
    if spec.certificates_source == CERT_MANAGER:
        return cert_manager.plan(spec, wanted, live)
    if spec.certificates_source == EXISTING:
        if spec.certificate_secret and not any(values):
            return existing_secret(spec.certificate_secret, bundle, wanted, live)
        if all(values) and not spec.certificate_secret:
            return existing_values(*values, bundle, wanted, live)
        return _refused(
            "superlink_certificates_source: 'existing' needs either superlink_certificate_secret, the name of a Secret, or "
            "both superlink_certificate and superlink_certificate_key"
        )
    if given["ca_certificate"] or given["ca_key"]:
        return _issued_by_given_ca(given["ca_certificate"], given["ca_key"], bundle, wanted, live)
    if bundle:
        return _refused(
            "superlink_ca_bundle has no effect on the federation's own CA, which defines itself what sites trust; remove it, "
            "or select another superlink_certificates_source"
        )
    return _issued_by_own_ca(wanted, live)


def _refused(fault: str) -> Plan:
    return Plan("", "", "", "", faults=[fault])


def _issued_by_own_ca(wanted: Wanted, live: LiveObjects) -> Plan:
    """By the federation's own CA, with its key in a Secret of a separate namespace.

    It is created only if there is none: replacing it is a rotation with overlap.
    """
    result = SecretPlan(wanted, live)
    place = f"Secret {wanted.ca_namespace}/{CA_SECRET}"
    authority = Authority.read(live.entries(wanted.ca_namespace, CA_SECRET))
    if authority is None and live.get("v1", "Secret", wanted.ca_namespace, CA_SECRET) is not None:
        return _refused(f"the CA in {place} has no tls.crt and tls.key that can be read; {DAMAGED}")
    if authority is None:
        authority = Authority(result.new_ca(CA_SECRET, "federation CA", "it did not exist"))
    elif useless := _cannot_sign(authority.current):
        return _refused(f"the CA in {place}: {useless}")
    return _issued(result, authority.current, authority.bundle, place, trust_is_complete=True)


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


def _issued_by_given_ca(certificate: str, key: str, bundle: str, wanted: Wanted, live: LiveObjects) -> Plan:
    """By a CA whose certificate and key come from variables, for example from a vault. Its key is never stored."""
    try:
        ca = handed_in(certificate, key)
    except chain.ChainError as error:
        return _refused(str(error))
    # What sites trust: by default the root that follows the CA's certificate, or is it.
    roots = "".join(part for part in certificates.split(ca.certificate) if chain.is_root(chain.read(part)[0]))
    if not (bundle or roots):
        return _refused(
            f"superlink_ca_certificate: {chain.subject(chain.read(ca.certificate)[0])} is not a root CA and none follows it, so it is not "
            "defined what sites trust; append the certificates of its issuers, or set the root CA in superlink_ca_bundle"
        )
    where = "superlink_ca_bundle" if bundle else "superlink_ca_certificate"
    return _issued(SecretPlan(wanted, live), ca, trust_bundle(bundle or roots), where, trust_is_complete=False)


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


def _issued(result: SecretPlan, ca: certificates.Issued, trust: str, trust_where: str, *, trust_is_complete: bool) -> Plan:
    wanted = result.wanted
    # Sites that get a new address later, or apply its bundle later, still verify the host of the former one.
    ours = ca.certificate + trust
    leaf = result.leaf(GATEWAY_SECRET, ca, SUBJECT, wanted.names, wanted.lifetime, wanted.renew_before, ours)
    return Plan(
        secret=GATEWAY_SECRET,
        where=f"the certificate in Secret {wanted.namespace}/{GATEWAY_SECRET}",
        key_where=f"tls.key of Secret {wanted.namespace}/{GATEWAY_SECRET}",
        trust_where=trust_where,
        secrets=result.secrets,
        reasons=result.reasons,
        certificate=leaf.certificate,
        key=leaf.key,
        trust=trust,
        trust_is_complete=trust_is_complete,
    )


def existing_secret(name: str, bundle: str, wanted: Wanted, live: LiveObjects) -> Plan:
    """From a Secret that someone else keeps: C(tls.crt), C(tls.key), and C(ca.crt) unless there is a bundle. Nothing is written."""
    place, variable = f"Secret {wanted.namespace}/{name}", "superlink_certificate_secret"
    result = Plan(name, f"tls.crt of {place}", f"tls.key of {place}", "superlink_ca_bundle" if bundle else f"ca.crt of {place}", managed_elsewhere=True)
    there = live.entries(wanted.namespace, name)
    trust = bundle or there.get("ca.crt", "")
    missing = [entry for entry in ("tls.crt", "tls.key") if not there.get(entry)]
    unreadable = [entry for entry in ("tls.crt", "tls.key") if not certificates.is_readable(there.get(entry, ""))]
    if live.get("v1", "Secret", wanted.namespace, name) is None:
        result.faults.append(
            f"{variable}: there is no Secret {name!r} in namespace {wanted.namespace}; create it with tls.crt and tls.key, or correct the name"
        )
    elif missing:
        result.faults.append(f"{variable}: {place} has no {' and no '.join(missing)} in PEM; add it")
    elif not trust.strip():
        result.faults.append(_no_trust(f"{place} has no ca.crt"))
    else:
        result.certificate, result.key, result.trust = there["tls.crt"], there["tls.key"], trust_bundle(trust) or trust
        if unreadable:
            result.faults.append(
                f"{variable}: {' and '.join(unreadable)} of {place} cannot be read by the gateway, which reads it as it is: each "
                "line from BEGIN to END must be a separate line, without leading spaces; store it in that form"
            )
    return result


def existing_values(certificate: str, key: str, bundle: str, wanted: Wanted, live: LiveObjects) -> Plan:
    """From variables: certificate (with its chain behind it), private key and what sites trust, all PEM, checked by C(certificate_checks).

    The Secret is written when it differs from them.
    """
    result = Plan(GATEWAY_SECRET, "superlink_certificate", "superlink_certificate_key", "superlink_ca_bundle")
    if not bundle:
        result.faults.append(_no_trust("superlink_ca_bundle is empty"))
        return result
    result.certificate, result.key, result.trust = map(certificates.standard, (certificate, key, trust_bundle(bundle)))
    data = {"tls.crt": "".join(certificates.split(result.certificate)), "tls.key": result.key, "ca.crt": result.trust}
    there = live.entries(wanted.namespace, GATEWAY_SECRET)
    if any(there.get(name) != value for name, value in data.items()) and all(map(str.isascii, data.values())):
        written = SecretPlan(wanted, live)
        written.write(wanted.namespace, GATEWAY_SECRET, data, "it differed" if there else "it did not exist")
        result.secrets, result.reasons = written.secrets, written.reasons
    return result


def _no_trust(reason: str) -> str:
    return f"{reason}, so it is not defined what sites trust; set the root CA of the certificate in superlink_ca_bundle"
