# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A certificate from an issuer of cert-manager in the hub's cluster, which renews it automatically.

Source of the rules: cert-manager.io/v1 and the behaviour of its controllers 1.11.5 (tests/fleet/go/certmanager).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..apply.readiness import condition
from ..base.values import Object
from ..kube.api_errors import NotServed
from ..manifests import patches
from ..manifests.certificate import API, KIND, NAME, SECRET, objects
from ..pki import certificates, chain
from ..spec.hub_spec import CERT_MANAGER_GROUP, HubSpec
from .authority import trust_bundle
from .certificate_plan import LiveObjects, Plan, Wanted

_NAMESPACED, _WIDE = "Issuer", "ClusterIssuer"
# Reasons of the condition Issuing after which cert-manager waits for an hour or longer before it tries again.
_GIVEN_UP = ("Failed", "Denied", "InvalidRequest")


def plan(spec: HubSpec, wanted: Wanted, live: LiveObjects) -> Plan:
    """Apply the Certificate, wait for it, use its Secret."""
    place = f"Secret {wanted.namespace}/{SECRET}"
    members = patches.apply(objects(spec), spec.patches, partial=True)[:1]
    trust_where = "superlink_ca_bundle" if spec.ca_bundle else f"ca.crt of {place}"
    result = Plan(SECRET, f"tls.crt of {place}", f"tls.key of {place}", trust_where, members=members, managed_elsewhere=True)
    described = f"superlink_issuer: {spec.issuer.kind} {spec.issuer.name!r}"
    try:
        certificate = live.get(API, KIND, wanted.namespace, NAME)
    except NotServed:
        result.faults.append(
            f"superlink_certificates_source: 'cert_manager', but the hub's cluster does not serve {KIND} ({API}); install "
            "cert-manager there, or select builtin or existing"
        )
        return result
    issuer: Object = {}
    if spec.issuer.group == CERT_MANAGER_GROUP and spec.issuer.kind in (_NAMESPACED, _WIDE):  # nothing is known of others
        namespace = wanted.namespace if spec.issuer.kind == _NAMESPACED else ""
        issuer = live.get(API, spec.issuer.kind, namespace, spec.issuer.name) or {}
        if not issuer:
            others = sorted(one["metadata"]["name"] for one in live.list_objects(API, spec.issuer.kind, namespace))
            where = f" in namespace {namespace}" if namespace else ""
            result.faults.append(f"{described} does not exist{where}; there are: {', '.join(others) or 'none'}")
            return result
        if fault := _issuer_fault(issuer, wanted, is_trust_known=bool(spec.ca_bundle)):
            result.faults.append(f"{described} {fault}")
            return result
    there = live.entries(wanted.namespace, SECRET)
    result.pending, result.hopeless = _pending(wanted, live, certificate, there)
    if result.pending:
        return result
    result.certificate, result.key = there["tls.crt"], there["tls.key"]
    if spec.ca_bundle:
        result.trust = trust_bundle(spec.ca_bundle)
    elif not there.get("ca.crt", "").strip():
        result.faults.append(
            f"{described}: it publishes no CA (ca.crt of {place} is empty), as issuers of public CAs do; set the root CA in superlink_ca_bundle"
        )
    else:
        result.trust = trust_bundle(there["ca.crt"], _next_ca(issuer, wanted, live) if spec.issuer.kind == _NAMESPACED else "")
    return result


def _issuer_fault(issuer: Object, wanted: Wanted, *, is_trust_known: bool) -> str:
    """What only a user can resolve; empty if there is nothing."""
    ready = condition(issuer, "Ready")
    if ready is None:
        return "has no condition Ready: check that cert-manager's controller is running"
    if ready.get("status") != "True":
        return f"is not ready ({_message(ready)}); resolve this first"
    if "acme" not in issuer["spec"]:
        return ""
    if not is_trust_known:
        return "is of a public CA (ACME); set the root CA in superlink_ca_bundle"
    if any(name.endswith(".flower.internal") or "." not in name for name in wanted.names):
        return (
            "is of a public CA (ACME), which signs no internal names; set "
            f"superlink_certificate_internal_names to false and {wanted.name_variable} to a public name of the hub"
        )
    return ""


def _pending(wanted: Wanted, live: LiveObjects, certificate: Object | None, there: Mapping[str, str]) -> tuple[str, bool]:
    """What must be waited for, and whether waiting is hopeless."""
    what = f"{KIND} {wanted.namespace}/{NAME}"
    if certificate is None:
        return f"{what} does not exist yet", False
    if (is_ready := _is_ready(certificate)) and {"tls.crt", "tls.key"} <= set(there):
        leaf = chain.read(there["tls.crt"])[0]
        missing = [name for name in wanted.names if not chain.covers(leaf, name)]
        return (f"{what} does not cover {', '.join(missing)} yet" if missing else ""), False
    issuing = condition(certificate, "Issuing") or {}
    reported = [_message(one) for one in (condition(certificate, "Ready"), issuing) if one and _message(one)]
    requests = [] if is_ready else live.list_objects(API, "CertificateRequest", wanted.namespace)
    own = [one for one in requests if (one["metadata"].get("annotations") or {}).get("cert-manager.io/certificate-name") == NAME]
    if own:
        newest = max(own, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))
        words = _message(condition(newest, "Ready") or {})
        reported.append(f"CertificateRequest {newest['metadata']['name']}: {words or 'it has not been processed yet'}")
    hopeless = _is_current(certificate, issuing) and issuing.get("status") == "False" and issuing.get("reason") in _GIVEN_UP
    return f"{what} is not ready: {'; '.join(reported) or 'cert-manager has not processed it yet'}", hopeless


def _next_ca(issuer: Object, wanted: Wanted, live: LiveObjects) -> str:
    """The CA of an Issuer that is one, which signs at the next renewal: sites can trust it before its first certificate is served.

    That of a ClusterIssuer is in a namespace that should not be readable.
    """
    name = ((issuer.get("spec") or {}).get("ca") or {}).get("secretName")
    there = live.entries(wanted.namespace, name) if name else {}
    listed = certificates.split(there.get("tls.crt", "") + there.get("ca.crt", ""))
    return "".join(part for part in listed if chain.is_root(chain.read(part)[0]))


def _is_ready(live: Object) -> bool:
    ready = condition(live, "Ready") or {}
    return _is_current(live, ready) and ready.get("status") == "True"


def _is_current(live: Object, one: Mapping[str, Any]) -> bool:
    """Whether a condition is about the present generation. One without a generation is of an older release."""
    generation = live["metadata"].get("generation", 0)
    return one.get("observedGeneration", generation) >= generation


def _message(one: Mapping[str, Any]) -> str:
    return ": ".join(" ".join(str(one[key]).split()) for key in ("reason", "message") if one.get(key))
