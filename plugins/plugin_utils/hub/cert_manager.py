# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A certificate from an issuer of cert-manager in the hub's cluster, which renews it automatically.

Source of the rules: cert-manager.io/v1 and the behaviour of its controllers 1.11.5 (tests/fleet/go/certmanager).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..apply.readiness import condition
from ..manifests.certificate import API, KIND, NAME, SECRET
from ..pki import certificates, chain
from ..spec.hub_spec import CERT_MANAGER_GROUP, HubSpec
from .authority import trust_bundle
from .certificate_plan import CERT_MANAGER, Observed, Plan, Ref, Wanted, secret_ref

_NAMESPACED, _WIDE = "Issuer", "ClusterIssuer"
# Reasons of the condition Issuing after which cert-manager waits for an hour or longer before it tries again.
_GIVEN_UP = ("Failed", "Denied", "InvalidRequest")


class CertManager:
    """A Certificate, and what becomes of it."""

    name = CERT_MANAGER

    def __init__(self, spec: HubSpec, rendered: Mapping[str, Any] | None, bundle: str = "") -> None:
        """Set what is requested.

        Args:
            rendered: the Certificate (manifests/certificate.py), None while the hub's address is not known.
            bundle: what sites trust, PEM; by default what the issuer publishes (C(ca.crt)).
        """
        self._issuer = spec.issuer
        self._rendered = rendered
        self._bundle = bundle

    # ---- what there is -----------------------------------------------------------------------------------------------

    def _certificate_ref(self, wanted: Wanted) -> Ref:
        return Ref(API, KIND, wanted.namespace, NAME)

    def _issuer_ref(self, wanted: Wanted) -> Ref | None:
        """The issuer; None for unknown groups."""
        kind = self._issuer.kind
        if self._issuer.group != CERT_MANAGER_GROUP or kind not in (_NAMESPACED, _WIDE):
            return None
        where = wanted.namespace if kind == _NAMESPACED else ""
        return Ref(API, kind, where, self._issuer.name)

    def _requests_ref(self, wanted: Wanted) -> Ref:
        return Ref(API, "CertificateRequest", wanted.namespace, "")

    def _ca_ref(self, wanted: Wanted, seen: Observed) -> Ref | None:
        """The Secret of an Issuer that is a CA. That of a ClusterIssuer is in a namespace that should not be readable."""
        where = self._issuer_ref(wanted)
        if where is None or where.kind != _NAMESPACED:
            return None
        name = (((seen.get(where) or {}).get("spec") or {}).get("ca") or {}).get("secretName")
        return secret_ref(wanted.namespace, name) if name else None

    def reads(self, wanted: Wanted, seen: Observed) -> Iterable[Ref]:
        """Certificate, Secret and issuer; then what explains why something is missing."""
        certificate, issuer = self._certificate_ref(wanted), self._issuer_ref(wanted)
        refs = [certificate, secret_ref(wanted.namespace, SECRET), *([issuer] if issuer else [])]
        if certificate in seen and certificate not in seen.unserved:
            if issuer and issuer in seen and seen[issuer] is None:
                refs.append(Ref(*issuer[:3], ""))
            ca = self._ca_ref(wanted, seen)
            refs += [ca] if ca else []
            if seen[certificate] is not None and not _ready(seen[certificate]):
                refs.append(self._requests_ref(wanted))
        return refs

    # ---- the plan ------------------------------------------------------------------------------------------

    def plan(self, wanted: Wanted, seen: Observed) -> Plan:
        """Apply the Certificate, wait for it, use its Secret."""
        place = f"Secret {wanted.namespace}/{SECRET}"
        own = f"ca.crt of {place}"
        trust_where = "superlink_ca_bundle" if self._bundle else own
        plan = Plan(SECRET, f"tls.crt of {place}", f"tls.key of {place}", trust_where, outside=True)
        if self._rendered is not None:
            plan.members.append(dict(self._rendered))
        fault = self._fault(wanted, seen)
        if fault:
            plan.faults.append(fault)
            return plan
        live = seen[self._certificate_ref(wanted)]
        there = seen.entries(wanted.namespace, SECRET)
        plan.lacks, plan.hopeless = self._lacks(wanted, seen, live, there)
        if plan.lacks:
            return plan
        plan.certificate, plan.key = there["tls.crt"], there["tls.key"]
        if not self._bundle and not there.get("ca.crt", "").strip():
            plan.faults.append(
                f"{self._described}: it publishes no CA (ca.crt of {place} is empty), as issuers of public CAs do; set "
                "the root CA in superlink_ca_bundle"
            )
            return plan
        plan.trust = trust_bundle(self._bundle or there["ca.crt"], self._coming(wanted, seen))
        return plan

    @property
    def _described(self) -> str:
        return f"superlink_issuer: {self._issuer.kind} {self._issuer.name!r}"

    def _fault(self, wanted: Wanted, seen: Observed) -> str | None:
        """Faults that only a user can resolve, in that order."""
        if self._certificate_ref(wanted) in seen.unserved:
            return (
                f"superlink_certificates_source: 'cert_manager', but the hub's cluster does not serve {KIND} ({API}); install "
                "cert-manager there, or select builtin or existing"
            )
        where = self._issuer_ref(wanted)
        if where is None:
            return None
        issuer = seen[where]
        if issuer is None:
            others = sorted(item["metadata"]["name"] for item in seen[Ref(*where[:3], "")])
            place = f" in namespace {where.namespace}" if where.namespace else ""
            return f"{self._described} does not exist{place}; there are: {', '.join(others) or 'none'}"
        ready = condition(issuer, "Ready")
        if ready is None:
            return f"{self._described} has no condition Ready: does cert-manager's controller run?"
        if ready.get("status") != "True":
            return f"{self._described} is not ready ({_message(ready)}); resolve this first"
        acme = "acme" in issuer["spec"]
        if acme and not self._bundle:
            return f"{self._described} is of a public CA (ACME); set the root CA in superlink_ca_bundle"
        if acme and any(name.endswith(".flower.internal") or "." not in name for name in wanted.names):
            return (
                f"{self._described} is of a public CA (ACME), which signs no internal names; set "
                f"superlink_certificate_internal_names to false and {wanted.name_variable} to a public name of the hub"
            )
        return None

    def _lacks(
        self, wanted: Wanted, seen: Observed, live: Mapping[str, Any] | None, there: Mapping[str, str]
    ) -> tuple[str, bool]:
        """What must be waited for, and whether waiting is hopeless."""
        what = f"{KIND} {wanted.namespace}/{NAME}"
        if live is None:
            return f"{what} is not there yet", False
        if _ready(live) and {"tls.crt", "tls.key"} <= set(there):
            leaf = chain.read(there["tls.crt"])[0]
            missing = [name for name in wanted.names if not chain.covers(leaf, name)]
            return (f"{what} does not cover {', '.join(missing)} yet" if missing else ""), False
        issuing = condition(live, "Issuing") or {}
        reported = [_message(one) for one in (condition(live, "Ready"), issuing) if one and _message(one)]
        newest = max(
            (one for one in seen[self._requests_ref(wanted)] if _belongs(one)),
            key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]),
            default=None,
        ) if self._requests_ref(wanted) in seen else None  # fmt: skip
        if newest is not None:
            word = _message(condition(newest, "Ready") or {})
            reported.append(
                f"CertificateRequest {newest['metadata']['name']}: {word or 'it has not been processed yet'}"
            )
        hopeless = _current(live, issuing) and issuing.get("status") == "False" and issuing.get("reason") in _GIVEN_UP
        return f"{what} is not ready: {'; '.join(reported) or 'cert-manager has not processed it yet'}", hopeless

    def _coming(self, wanted: Wanted, seen: Observed) -> str:
        """The CA that signs at the next renewal: sites can trust it before its first certificate is served."""
        where = self._ca_ref(wanted, seen)
        if where is None or seen[where] is None or self._bundle:
            return ""
        there = seen.entries(wanted.namespace, where.name)
        return "".join(
            part
            for part in certificates.split(there.get("tls.crt", "") + there.get("ca.crt", ""))
            if chain.is_root(chain.read(part)[0])
        )


def _ready(live: Mapping[str, Any]) -> bool:
    """Is it ready as it is now?"""
    ready = condition(live, "Ready") or {}
    return _current(live, ready) and ready.get("status") == "True"


def _current(live: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    """Is a condition about the present generation? One without a generation is of an older release."""
    generation = live["metadata"].get("generation", 0)
    return one.get("observedGeneration", generation) >= generation


def _belongs(request: Mapping[str, Any]) -> bool:
    return (request["metadata"].get("annotations") or {}).get("cert-manager.io/certificate-name") == NAME


def _message(one: Mapping[str, Any]) -> str:
    return ": ".join(" ".join(str(one[key]).split()) for key in ("reason", "message") if one.get(key))
