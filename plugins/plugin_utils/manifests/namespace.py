# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The namespace and its Pod Security level.

Keys of the specs used here, besides those of every object: C(create_namespace), C(pod_security) (a level, C(auto), or "" for no
label), and whether Skupper's routers run in the namespace: C(connectivity) of a site, C(skupper) of the hub.
"""

from __future__ import annotations

from ..base.values import Object, Spec, boolean, text
from .objects import metadata

AUTO, BASELINE, RESTRICTED = "auto", "baseline", "restricted"
MODES = ("audit", "enforce", "warn")
LABEL = "pod-security.kubernetes.io/"
ENFORCE = f"{LABEL}enforce"


def has_routers(spec: Spec) -> bool:
    """Whether Skupper's routers run in the namespace of a spec."""
    return boolean(spec.get("skupper")) or text(spec.get("connectivity")) == "skupper"


def levels(spec: Spec) -> dict[str, str]:
    """Mode of Pod Security admission -> level; empty for none.

    Skupper's routers set no seccompProfile (its Deployment C(skupper-router), seen with 2.2.1), so C(restricted) refuses them: where
    they run, C(auto) enforces C(baseline). It still audits and warns at C(restricted), which the collection's own pods keep to.
    """
    level = text(spec.get("pod_security"))
    if level != AUTO:
        return dict.fromkeys(MODES, level) if level else {}
    return {**dict.fromkeys(MODES, RESTRICTED), "enforce": BASELINE if has_routers(spec) else RESTRICTED}


def beside(spec: Spec, name: str) -> Object:
    """The spec for another namespace of the same cluster, where no router runs."""
    if name == text(spec["namespace"]):
        return dict(spec)
    return {**spec, "namespace": name, "skupper": False, "connectivity": ""}


def objects(spec: Spec) -> list[Object]:
    """The Namespace with its Pod Security level; nothing where somebody else owns namespaces (C(create_namespace))."""
    if not boolean(spec.get("create_namespace", True)):
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata(
                spec,
                spec["namespace"],
                "flower",
                "namespace",
                extra_labels={f"{LABEL}{mode}": level for mode, level in levels(spec).items()},
                namespaced=False,
            ),
        }
    ]
