# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of a site that gives no access and gets a bundle of files."""

from __future__ import annotations

from collections.abc import Mapping

from ..base.choices import BUNDLE
from ..base.values import boolean, text
from ..spec.pool_spec import DAEMON_SET
from .faults import Faults, Spec


def bundle_faults(spec: Spec, faults: Faults) -> None:
    """Rules for a site's way of delivery, if it is a bundle."""
    if spec.get("delivery") != BUNDLE:
        return
    if not text(spec.get("bundle_directory") or ""):
        faults.add(
            "bundle_directory",
            "",
            "is not set: set flower_bundle_directory to the folder on the control node in which bundles are written",
        )
    if boolean(spec.get("insecure")):
        faults.add(
            "insecure", spec["insecure"], "does not go together with flower_delivery: bundle, whose files the CA of the hub signs"
        )
    if spec.get("connectivity") == "skupper":
        faults.sentence(
            f"{text(spec.get('cluster'))}: flower_delivery: {BUNDLE!r} does not go together with flower_connectivity: skupper: a site's "
            "part of a Skupper network is created through its own API server. Set flower_connectivity to direct, so that its SuperNodes connect to "
            "the hub"
        )
    for number, pool in enumerate(spec.get("pools") or []):
        if isinstance(pool, Mapping) and text(pool.get("mode")) == DAEMON_SET:
            faults.add(
                f"pools[{number}].mode",
                DAEMON_SET,
                "needs a key for each node, and the nodes of a site that gives no access are not known: use a StatefulSet with "
                "topology_spread_constraints",
            )
