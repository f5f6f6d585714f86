# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose business the gateway's certificate and its CA are. Pure."""

from __future__ import annotations

from ..hub.sources.interface import BUILTIN, CERT_MANAGER, EXISTING

LEAF, CA = "leaf", "ca"

_WAYS = {
    (CERT_MANAGER, LEAF): (
        "cert-manager issues the certificate in Secret {secret} and renews it automatically (superlink_certificates_source is "
        "cert_manager): reissue it there, with `cmctl renew superlink-gateway`; site.yml has it served at once"
    ),
    (CERT_MANAGER, CA): (
        "cert-manager issues the certificate in Secret {secret} (superlink_certificates_source is cert_manager), so its CA is "
        "that of the issuer: replace it there. site.yml publishes old and new CA first, and then has the new certificate served"
    ),
    (EXISTING, LEAF): (
        "the certificate in Secret {secret} is provided by you (superlink_certificates_source is existing): replace it at its source, "
        "then run site.yml, which checks and serves it"
    ),
    (EXISTING, CA): (
        "the certificate in Secret {secret} is provided by you (superlink_certificates_source is existing), and so is its "
        "CA: set both CAs in superlink_ca_bundle, run site.yml, then replace the certificate and run site.yml again"
    ),
}
_HANDED_IN = (
    "the CA is provided by you (superlink_ca_certificate and superlink_ca_key): replace both; site.yml then publishes the old and the "
    "new one, and when it is run again it has a certificate of the new one served"
)


def refusal(source: str, kind: str, handed_in: bool, secret: str) -> str | None:
    """Why this collection cannot do a kind of rotation, with the remedy; None when it can.

    Args:
        source: the source of the gateway's certificate, one of C(hub.sources.base.SOURCES).
        kind: what to rotate.
        handed_in: whether the CA comes from variables.
        secret: the Secret with the certificate, for the message.
    """
    if source == BUILTIN:
        return _HANDED_IN if kind == CA and handed_in else None
    way = _WAYS.get((source, kind))
    return way.format(secret=secret) if way else None
