# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An existing certificate: in a Secret of the hub's namespace, or as values, which may come from a vault."""

from __future__ import annotations

from collections.abc import Iterable

from ...base.object_names import GATEWAY_SECRET
from ...pki import certificates
from ..authority import trust_bundle
from ..made import SecretPlan
from ..wanted import Observed, Ref, Wanted, secret_ref
from .interface import EXISTING, Plan


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
        plan.certificate, plan.key, plan.trust = map(certificates.standard, (self._certificate, self._key, trust_bundle(self._bundle)))
        data = {"tls.crt": "".join(certificates.split(plan.certificate)), "tls.key": plan.key, "ca.crt": plan.trust}
        there = seen.entries(wanted.namespace, GATEWAY_SECRET)
        if any(there.get(name) != value for name, value in data.items()) and all(map(str.isascii, data.values())):
            made = SecretPlan(wanted, seen)
            made.write(wanted.namespace, GATEWAY_SECRET, data, "it differed" if there else "it did not exist")
            plan.secrets, plan.reasons = made.secrets, made.reasons
        return plan


def _no_trust(reason: str) -> str:
    return f"{reason}, so it is not defined what sites trust; set the root CA of the certificate in superlink_ca_bundle"
