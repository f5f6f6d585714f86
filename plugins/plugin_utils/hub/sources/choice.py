# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certificate source of a spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...manifests import certificate, patches
from ...spec.hub_spec import HubSpec
from ..wanted import Observed, Ref, Wanted
from .builtin import Builtin, HandedIn
from .cert_manager import CertManager
from .existing import ExistingSecret, ExistingValues
from .interface import CERT_MANAGER, EXISTING, Plan, Source


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
