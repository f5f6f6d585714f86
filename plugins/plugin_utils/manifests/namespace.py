# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The namespace and its Pod Security level."""

from __future__ import annotations

from ..base.values import Object
from ..spec.part_spec import PartSpec
from .objects import metadata

AUTO, BASELINE, RESTRICTED = "auto", "baseline", "restricted"
MODES = ("audit", "enforce", "warn")
LABEL = "pod-security.kubernetes.io/"
ENFORCE = f"{LABEL}enforce"


def levels(spec: PartSpec) -> dict[str, str]:
    """Mode of Pod Security admission -> level; empty for none.

    Skupper's routers set no seccompProfile (its Deployment C(skupper-router), seen with 2.2.1), so C(restricted) refuses them: where
    they run, C(auto) enforces C(baseline). It still audits and warns at C(restricted), which the collection's own pods keep to.
    """
    level = spec.pod_security
    if level != AUTO:
        return dict.fromkeys(MODES, level) if level else {}
    return {**dict.fromkeys(MODES, RESTRICTED), "enforce": BASELINE if spec.has_routers else RESTRICTED}


def objects(spec: PartSpec) -> list[Object]:
    """The Namespace with its Pod Security level; nothing where someone else owns namespaces (C(create_namespace))."""
    if not spec.create_namespace:
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata(
                spec,
                spec.namespace,
                "flower",
                "namespace",
                extra_labels={f"{LABEL}{mode}": level for mode, level in levels(spec).items()},
                namespaced=False,
            ),
        }
    ]
