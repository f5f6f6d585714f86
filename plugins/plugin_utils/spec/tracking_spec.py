# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tracking server to which ServerApps report: MLflow, or what speaks its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import urlsplit

from .fields import Certificates, Listed, Parsed, Text

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Tracking(Parsed):
    """The server; none if C(uri) is empty.

    Attributes:
        secret: existing Secret with the credentials, in the entries C(token_key), or C(username_key) and C(password_key).
        ca: certificates of the CA that signed the server's, PEM; empty for public CAs.
        egress: peers by which policies know the server; empty to derive them from C(uri).
    """

    uri: Text = ""
    secret: Text = ""
    token_key: Text = ""
    username_key: Text = ""
    password_key: Text = ""
    ca: Certificates = ""
    egress: Listed = field(default_factory=list)

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection has TLS."""
        return urlsplit(self.uri).scheme == "https"

    @property
    def endpoint(self) -> tuple[str, int]:
        """Host and port of the server.

        Raises:
            ValueError: the URI has none.
        """
        parts = urlsplit(self.uri)
        return parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)


def _tracking(value: Mapping[str, Any] | None) -> Tracking:
    return Tracking.parse(value or {})


TrackingServer = Annotated[Tracking, _tracking]
