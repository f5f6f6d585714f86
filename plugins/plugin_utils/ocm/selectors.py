# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Label selectors as an API server takes them in a query. Pure.

The API server evaluates label selectors, so its rules apply here exactly.
Source: Kubernetes documentation, «Labels and Selectors»; ManagedClusterSet in open-cluster-management.io/api
C(cluster/v1beta2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import api

_FORMS = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "Exists": "{key}", "DoesNotExist": "!{key}"}


def joined(*selectors: str) -> str:
    """One selector for what all of them select."""
    return ",".join(selector for selector in selectors if selector)


def text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector object (C(matchLabels), C(matchExpressions)) as text; an empty one selects everything.

    Raises:
        ValueError: an operator that is none of In, NotIn, Exists and DoesNotExist.
    """
    selector = selector or {}
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or []:
        form = _FORMS.get(expression.get("operator", ""))
        if form is None:
            raise ValueError(f"unknown operator {expression.get('operator')!r}")
        parts.append(form.format(key=expression["key"], values=",".join(expression.get("values") or [])))
    return joined(*parts)


def of_set(cluster_set: Mapping[str, Any]) -> str:
    """What selects the clusters of a ManagedClusterSet.

    Most sets have the clusters with their name in a label; others, such as C(global), select by labels.

    Raises:
        ValueError: the set selects in a way that is not known here.
    """
    selector = (cluster_set.get("spec") or {}).get("clusterSelector") or {}
    kind = selector.get("selectorType") or "ExclusiveClusterSetLabel"
    if kind == "LabelSelector":
        return text(selector.get("labelSelector"))
    if kind == "ExclusiveClusterSetLabel":
        return f"{api.SET_LABEL}={cluster_set['metadata']['name']}"
    raise ValueError(f"unknown selectorType {kind!r}")
