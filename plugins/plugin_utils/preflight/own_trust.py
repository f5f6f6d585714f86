# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site that trusts a CA bundle of its variables instead of the one that the hub publishes. Pure."""

from __future__ import annotations

from ..pki import chain
from ..spec.site_spec import SiteSpec


def fault(spec: SiteSpec, served: str) -> str:
    """Why the SuperNodes of a site would refuse the gateway's certificate, with the remedy; empty if they would not.

    Args:
        spec: the site, as its variables have it. Without client certificates it may trust something in front of the gateway.
        served: the certificate that the gateway is going to serve, with its chain, PEM; empty if it is not known.
    """
    if not spec.ca_bundle or not spec.shows_certificate or not served:
        return ""
    try:
        chain.path(chain.read(served), chain.read(spec.ca_bundle))
    except chain.ChainError as error:
        return (
            f"with supernode_ca_bundle, its SuperNodes refuse the certificate that the gateway is going to serve: its chain {error}. Add the root, "
            "or remove the variable: the site then trusts what the hub publishes"
        )
    return ""
