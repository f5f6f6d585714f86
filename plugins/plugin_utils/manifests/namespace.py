# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The namespace."""

from __future__ import annotations

from ..base.values import Object, Spec, boolean
from .objects import metadata


def objects(spec: Spec) -> list[Object]:
    """The Namespace with its Pod Security level; nothing where somebody else owns namespaces (C(create_namespace))."""
    if not boolean(spec.get("create_namespace", True)):
        return []
    level = spec.get("pod_security")
    modes = ("audit", "enforce", "warn") if level else ()
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata(
                spec,
                spec["namespace"],
                "flower",
                "namespace",
                extra_labels={f"pod-security.kubernetes.io/{mode}": level for mode in modes},
                namespaced=False,
            ),
        }
    ]
