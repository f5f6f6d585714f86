# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tokens that OpenShift's OAuth server issued to users.

Source: openshift/api, oauth/v1 (C(UserOAuthAccessToken): its name is C(sha256~) and the digest of the token, which it does not contain).
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode

from .api_errors import NotFound, Unauthorized
from .client import Cluster

API = "oauth.openshift.io/v1"
_PREFIX = "sha256~"


def object_name(token: str) -> str:
    """Name of the object that stands for a token."""
    digest = hashlib.sha256(token.removeprefix(_PREFIX).encode()).digest()
    return _PREFIX + urlsafe_b64encode(digest).rstrip(b"=").decode()


def revoke(cluster: Cluster, token: str) -> bool:
    """Revoke a token with itself; returns whether it was valid until then."""
    try:
        cluster.request("DELETE", f"/apis/{API}/useroauthaccesstokens/{object_name(token)}")
    except (NotFound, Unauthorized):
        return False
    return True
