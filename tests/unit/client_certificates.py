# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Client certificates as a site has them."""

from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils.pki import keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.pki.certificates import (
    Issued,
    client_request,
    sign_client_request,
)


def issue_client(
    ca: Issued, common_name: str, organization: str, lifetime: datetime.timedelta, now: datetime.datetime | None = None
) -> Issued:
    """A new key, and a certificate for it."""
    key = keypairs.make_client_key()
    return Issued(sign_client_request(ca, client_request(key, common_name), common_name, organization, lifetime, now), key)
