# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates: where the gateway's comes from, how long certificates are valid, and when they are renewed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ..base.object_names import BUILTIN, CERT_MANAGER, EXISTING
from ..base.problems import Problem
from ..base.values import boolean, integer
from .value_checks import MAX_DAYS, Check, Problems, Rule, Spec, each, given, number

# cert-manager, pkg/apis/certmanager/v1/const.go: MinimumRenewBefore.
_CERT_MANAGER_RENEWS = datetime.timedelta(minutes=5)
_DAYS = number(1, MAX_DAYS)


def _source(spec: Spec) -> str:
    return str(spec.get("certificates_source") or BUILTIN)


CERTIFICATES: Mapping[str, Check] = {
    "certificate_secret": given(Problems.subdomain),
    "certificate_names": each(Problems.name_or_ip),
    "certificate_days": _DAYS,
    "client_certificate_days": _DAYS,
}
CERTIFICATE_RULES = (
    Rule("certificates_source", lambda spec: boolean(spec.get("insecure")) and _source(spec) != BUILTIN, "has nothing to serve: insecure is true"),
    Rule("certificate_secret", lambda spec: spec.get("certificate_secret") and _source(spec) != EXISTING,
         "has no effect with certificates_source {certificates_source}"),
    Rule("issuer", lambda spec: _source(spec) == CERT_MANAGER and not (spec.get("issuer") or {}).get("name"),
         "has no name; cert-manager signs with an Issuer or ClusterIssuer"),
    Rule("issuer", lambda spec: _source(spec) != CERT_MANAGER and spec.get("issuer"), "has no effect with certificates_source {certificates_source}"),
    Rule("client_certificates", lambda spec: boolean(spec.get("insecure")) and spec.get("client_certificates") in ("required", "optional"),
         "has no effect without TLS: insecure is true; use none"),
)


def certificates(found: Problems, spec: Spec) -> None:
    """The hub's certificates."""
    found.check(CERTIFICATES, spec)
    found.apply(CERTIFICATE_RULES, spec)
    found.check(dict.fromkeys(("name", "group"), given(Problems.subdomain)), spec.get("issuer") or {}, "issuer.")
    before = _renewal(found, "renew_before", spec.get("renew_before"), spec.get("certificate_days"), "superlink_certificate_days", 90)
    if before is not None and _source(spec) == CERT_MANAGER and before < _CERT_MANAGER_RENEWS:
        found.add("renew_before", spec.get("renew_before"), "is less than the 5 minutes that cert-manager needs")


def rotation_problems(options: Mapping[str, Any], host: str) -> list[Problem]:
    """What is wrong with the variables of the role cert_rotation, without their prefix; C(host): inventory name of the hub."""
    found = Problems({"cluster": host}, "cert_rotation_")
    found.check(dict.fromkeys(("grace", "wait", "wait_timeout", "proof_timeout"), number(0, 30 * 86400)), options)
    found.check({"certificate_days": _DAYS, "ca_days": _DAYS}, options)
    _renewal(found, "renew_before", options["renew_before"], options["certificate_days"], "cert_rotation_certificate_days", 1)
    _renewal(found, "ca_renew_before", options["ca_renew_before"], options["ca_days"], "cert_rotation_ca_days", 1)
    return found.found


def _renewal(found: Problems, variable: str, value: Any, lifetime: Any, of: str, default: int) -> datetime.timedelta | None:
    """How long before its end a certificate is renewed; C(of): the variable with its lifetime in days."""
    try:
        days = integer(lifetime) or default
    except (TypeError, ValueError):
        return None  # reported already
    moment = datetime.timedelta(microseconds=1)
    longest = datetime.timedelta(days=min(max(days, 1), MAX_DAYS))
    return found.duration(variable, value, moment, longest - moment, f"0 and the {days} days of {of}")
