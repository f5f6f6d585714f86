# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of everything that this collection creates. Pure."""

from __future__ import annotations

from .values import Spec, text

MANAGER = "federated.flower"
PART_OF = "flower"
POOL_LABEL = "federated.flower/pool"


def labels(spec: Spec, name: str, component: str | None = None, *, pool: str | None = None) -> dict[str, str]:
    """Labels of an object or pod template. The collection's own labels win over the user's.

    Args:
        name: application ("superlink", "serverapp", "supernode").
        component: its part; the application's name by default.
        pool: name of the pool.
    """
    merged = {k: text(v) for k, v in (spec.get("labels") or {}).items()}
    merged.update(selector(spec, name, component, pool=pool))
    merged["app.kubernetes.io/part-of"] = PART_OF
    merged["app.kubernetes.io/managed-by"] = MANAGER
    merged["app.kubernetes.io/version"] = text(spec["version"])
    return dict(sorted(merged.items()))


def selector(spec: Spec, name: str, component: str | None = None, *, pool: str | None = None) -> dict[str, str]:
    """Labels that select pods. Never the version: selectors can't be changed later."""
    picked = {
        "app.kubernetes.io/component": component or name,
        "app.kubernetes.io/instance": text(spec["federation"]),
        "app.kubernetes.io/name": name,
    }
    if pool is not None:
        picked[POOL_LABEL] = pool
    return picked


def record_labels(federation: str, name: str, component: str) -> dict[str, str]:
    """Labels of an object that outlives releases: none of them has a version."""
    return {
        **selector({"federation": federation}, name, component),
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/part-of": PART_OF,
    }
