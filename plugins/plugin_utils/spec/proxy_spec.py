# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP proxy through which a site reaches the hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from .fields import Parsed, Text, Texts

USERNAME, PASSWORD = "username", "password"


@dataclass(frozen=True)
class Proxy(Parsed):
    """The proxy; none if C(address) is empty.

    Attributes:
        address: its host and port.
        secret: existing Secret with the credentials, in the entries C(username_key) and C(password_key).
        cidrs: networks of its address, for policies.
    """

    address: Text = ""
    secret: Text = ""
    username_key: Text = USERNAME
    password_key: Text = PASSWORD
    cidrs: Texts = field(default_factory=list)


def _proxy(value: Mapping[str, Any] | None) -> Proxy:
    return Proxy.parse(value or {})


HttpProxy = Annotated[Proxy, _proxy]
