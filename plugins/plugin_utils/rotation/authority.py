# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The CA of a federation, what sites trust, and what the gateway serves. Pure.

The entries of its own Secret: C(tls.crt) and C(tls.key) of the CA that signs now, C(next.crt) and C(next.key) of the one that will, C(previous.crt)
of those that did. Sites trust all of them, so none loses its connection by a rotation of the CA.

Everything else that changes the CA (another source, another issuer, a CA that cert-manager renewed, values that were exchanged) is handed over: both
are published, and the new certificate is served when sites trust it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..base.object_names import GATEWAY_VOLUME
from ..base.secret_data import entries
from ..pki import certificates, chain
from .certificate_plan import Plan

if TYPE_CHECKING:
    from cryptography import x509

# On the gateway's pod: fingerprint of the certificate for which the kubelet was triggered.
NOTE = "federated.flower/certificate"
# The remedy where the CA's certificate cannot be read.
DAMAGED = "restore it from a backup, or delete the Secret: federated.flower.site, run three times, then changes to a new CA"


@dataclass(frozen=True)
class Authority:
    """A CA and its neighbours in time.

    Attributes:
        current: signs certificates now.
        next: will sign after a switch; None outside of a rotation.
        previous: certificates of CAs that signed before, PEM; may be empty.
    """

    current: certificates.Issued
    next: certificates.Issued | None = None
    previous: str = ""

    @classmethod
    def read(cls, entries: Mapping[str, str]) -> Authority | None:
        """From the Secret's entries; None when it has no CA."""
        if not {"tls.crt", "tls.key"} <= set(entries):
            return None
        following = None
        if {"next.crt", "next.key"} <= set(entries):
            following = certificates.Issued(entries["next.crt"], entries["next.key"])
        return cls(certificates.Issued(entries["tls.crt"], entries["tls.key"]), following, entries.get("previous.crt", ""))

    def entries(self) -> dict[str, str]:
        """The Secret's entries."""
        found = {"tls.crt": self.current.certificate, "tls.key": self.current.key}
        if self.next is not None:
            found.update({"next.crt": self.next.certificate, "next.key": self.next.key})
        if self.previous:
            found["previous.crt"] = self.previous
        return found

    @property
    def bundle(self) -> str:
        """What sites trust, PEM."""
        return trust_bundle(self.current.certificate, self.next.certificate if self.next else "", self.previous)


def trust_bundle(current: str, following: str = "", previous: str = "") -> str:
    """What sites trust: the CAs that did sign, sign now, and will sign. Each is PEM, and may be empty.

    Returns:
        PEM without anything but certificates (SuperNodes hang with a trust file that is not ASCII), each once. They are in
        the order of time, so the text stays the same when the next CA becomes the current one, and no pod restarts because of it.
    """
    return "".join(dict.fromkeys(found for part in (previous, current, following) for found in certificates.split(part)))


@dataclass
class Handover:
    """What is served and trusted now.

    Attributes:
        secret: the Secret that the gateway mounts.
        certificate: what is in it, PEM, leaf first.
        trust: the CA bundle of the sites, PEM.
        secrets: the plan's Secrets that may be written now.
        warnings: sentences.
    """

    secret: str
    certificate: str
    trust: str
    secrets: list[dict[str, Any]]
    warnings: list[str] = field(default_factory=list)


def hand_over(plan: Plan, published: str, mounted: str, served: str, now: datetime.datetime, *, forget: bool = False) -> Handover:
    """Decide what of a plan can be served at once.

    Args:
        plan: a plan without faults.
        published: the published CA bundle, PEM; empty before the first deployment.
        mounted: name of the Secret that the gateway mounts now; empty before the first deployment.
        served: the certificate in that Secret, PEM; may be empty.
        forget: remove previous CAs from the CA bundle.
    """
    if plan.pending:  # only in check mode: the result is not known yet
        return Handover(mounted or plan.secret, served, published, [])
    result = Handover(plan.secret, plan.certificate, plan.trust, plan.secrets)
    if not published:
        return result
    # Certificates of the published bundle that are not in the current one and have not expired.
    known = {certificates.describe(part)["fingerprint"] for part in certificates.split(plan.trust)}
    others = [part for part in certificates.split(published) if certificates.describe(part)["fingerprint"] not in known]
    former = "".join(part for part in others if chain.read(part)[0].not_valid_after_utc > now)
    if not is_trusted(plan.certificate, published, now):
        if mounted and served and served != plan.certificate and is_trusted(served, published, now):
            result.secret, result.certificate = mounted, served
            result.secrets = [item for item in plan.secrets if item["metadata"]["name"] != mounted]
            result.trust = trust_bundle(published, plan.trust)
            result.warnings.append(
                f"the gateway keeps the certificate of Secret {mounted} for now, since sites do not trust the CA of the new "
                f"one ({_subjects(plan.trust)}) yet. This run publishes both; when it has reached every site, run site.yml "
                "again"
            )
            return result
        result.warnings.append(
            f"the gateway's certificate is of a CA that sites do not trust yet ({_subjects(plan.trust)}): they cannot connect "
            "until this run has reached them"
        )
    keep = not plan.trust_is_complete or not is_trusted(served, plan.trust, now)
    if former and keep and not (forget and is_trusted(served, plan.trust, now)):
        result.trust = trust_bundle(plan.trust, "", former)
        result.warnings.append(
            f"sites still trust previous CAs: {_subjects(former)}. When every site has been reached, "
            "-e flower_forget_cas=true removes them"
        )
    return result


def is_trusted(certificate: str, bundle: str, now: datetime.datetime) -> bool:
    """Would sites that have this bundle accept the certificate now?"""
    try:
        served = chain.read(certificate)
        chain.check_times(chain.path(served, chain.read(bundle)), {"": now})
    except chain.ChainError:
        return False
    return True


def _subjects(bundle: str) -> str:
    return ", ".join(f"{chain.subject(one)} (until {one.not_valid_after_utc.date()})" for one in chain.read(bundle))


def mounted_secret(stateful_set: Mapping[str, Any] | None) -> str:
    """Name of the Secret that the gateway mounts; empty when there is none."""
    volumes = ((stateful_set or {}).get("spec") or {}).get("template", {}).get("spec", {}).get("volumes") or []
    return next((volume["secret"]["secretName"] for volume in volumes if volume["name"] == GATEWAY_VOLUME), "")


def published_bundle(publication: Mapping[str, Any] | None) -> str:
    """The published CA bundle, PEM; empty when nothing is published."""
    return ((publication or {}).get("data") or {}).get("ca.crt", "")


def served_facts(
    name: str, secret: Mapping[str, Any] | None, published: str, now: datetime.datetime
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts of the gateway's certificate in the Secret that it mounts, and of each CA of the published CA bundle (PEM; may be empty).

    Returns:
        The certificate's facts (C(certificates.describe)) with C(secret), C(fault), the reason why sites refuse it or an empty
        text, and C(ca), the dates of the CA of its chain that ends first; and the facts of the CAs. Where no certificate can be read there is
        only the fault.
    """
    trust = [certificates.describe(part) for part in certificates.split(published)]
    try:
        served_chain = chain.read(entries(secret).get("tls.crt", ""))
    except chain.ChainError as error:
        return {"secret": name, "fault": f"tls.crt of Secret {name} {error}"}, trust
    fault, ca = "", {}
    try:
        path = chain.path(served_chain, chain.read(published))
        ca = min(map(_dates, path[1:]), key=lambda one: one["not_after"], default={})
        chain.check_use(path)
        chain.check_times(path, {"the controller": now})
    except chain.ChainError as error:
        fault = f"{error} (Secret {name}, compared with the CA bundle of the sites)" if published else ""
    return {"secret": name, **certificates.describe(entries(secret)["tls.crt"]), "fault": fault, "ca": ca}, trust


def _dates(ca: x509.Certificate) -> dict[str, str]:
    begun, ends = ca.not_valid_before_utc.isoformat(), ca.not_valid_after_utc.isoformat()
    return {"subject": chain.subject(ca), "not_before": begun, "not_after": ends}
