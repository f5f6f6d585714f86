# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the gateway will still refuse the sites that are denied: it recognizes them by their client certificates only. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from ..spec.hub_spec import HubSpec


def refused(denials: Iterable[str], known: Collection[str], sites: Collection[str]) -> list[str]:
    """Names of the sites that the gateway has to refuse.

    Args:
        denials: names of the sites that are denied. One that left the fleet has no registered keys, and needs no refusal.
        known: names of the sites of which the ledger has a record, also one that cannot be read.
        sites: names of the sites of the inventory.
    """
    return [site for site in denials if site in known or site in sites]


def fault(spec: HubSpec, denied: Sequence[str]) -> str:
    """Why the hub must not be deployed like this, with the remedy; an empty text if the gateway asks for certificates, or no site is denied.

    Args:
        spec: the hub.
        denied: what C(refused) returned.
    """
    if spec.asks != "none" or not denied:
        return ""
    setting = "flower_insecure: true" if spec.insecure else f"superlink_client_certificates: {spec.client_certificates}"
    admit = json.dumps({"flower_site": list(denied), "flower_access": "admitted"})
    return (
        f"{setting}: the gateway would admit sites that are denied ({', '.join(denied)}), since it recognizes them by their client certificates "
        "only. Keep superlink_client_certificates: required (flower_mtls: true); or forget these sites first (flower_forget_sites), which "
        f"unregisters their keys; or admit them first: federated.flower.site_access -e '{admit}'"
    )


def warnings(spec: HubSpec, denied: Sequence[str]) -> list[str]:
    """Sentences on denials that can be bypassed; C(denied) as in C(fault)."""
    if spec.asks != "optional" or not denied:
        return []
    return [
        f"superlink_client_certificates is optional: sites that are denied ({', '.join(denied)}) are refused only as long as they present their "
        "certificates, and could omit them. Set it to required"
    ]
