# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Secret with the credentials for a site's HTTP proxy, where variables have them. Pure but for randomness."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import PROXY_MARK, PROXY_SECRET
from ..base.secret_data import entries, secret
from ..base.values import text
from ..marks.proof import belongs, holder, may_delete
from ..spec.site_spec import PASSWORD, USERNAME, SiteSpec


def wanted(spec: SiteSpec, given: Mapping[str, Any]) -> dict[str, str]:
    """The entries of the Secret; none without credentials in variables.

    Args:
        spec: the site.
        given: C(username) and C(password), without faults (C(validate/proxy_faults.py)).
    """
    if not spec.has_proxy or not spec.http_proxy_credentials:
        return {}
    return {name: text(given.get(name)) for name in (USERNAME, PASSWORD)}


def changes(
    spec: SiteSpec, values: Mapping[str, str], live: Mapping[str, Any] | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The Secret to write, if any; and name -> uid of the Secrets of this federation that pods do not need once the site's objects are applied.

    Args:
        spec: the site.
        values: of C(wanted).
        live: the live Secret of that name.

    Raises:
        ClusterError: it is someone else's.
    """
    if not values:
        # Unless it is someone else's, or the user names it: pods go on using it then.
        named = spec.has_proxy and spec.http_proxy.secret == PROXY_SECRET
        if live is None or named or not may_delete(live, spec.federation):
            return [], {}
        return [], {PROXY_SECRET: str(live["metadata"]["uid"])}
    if live is not None and not belongs(live, spec.federation):
        raise ClusterError(
            f"Secret {spec.namespace}/{PROXY_SECRET} exists already and {holder(live)}: it is not changed. Name it in supernode_http_proxy.secret, "
            "or delete or rename it."
        )
    data = entries(live)
    if data.pop(PROXY_MARK, "") and data == dict(values):
        return [], {}
    data = {**values, PROXY_MARK: secrets.token_hex(8)}
    return [secret(spec.federation, spec.namespace, PROXY_SECRET, data, application="supernode")], {}
