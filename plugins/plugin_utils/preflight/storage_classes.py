# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a StorageClass makes the volumes of a new hub. Pure.

A cluster may have no default one, as those of Amazon EKS since Kubernetes 1.30. Claims then wait until the time of the run is over. It is only
a warning, since someone may have made a PersistentVolume for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..spec.hub_spec import HubSpec


def warnings(spec: HubSpec, known: Mapping[str, bool] | None) -> list[str]:
    """A sentence for each variable whose StorageClass is not there.

    Args:
        spec: the hub.
        known: all StorageClasses of its cluster, and whether each is the default; None where they may not be listed.
    """
    if known is None:
        return []
    has_default = any(known.values())
    wanted = {"superlink_storage_class": spec.storage_class}
    if spec.outputs_enabled and not spec.outputs_claim:
        wanted["superlink_outputs_storage_class"] = spec.outputs_storage_class
    found = []
    for variable, name in wanted.items():
        if name in known or (not name and has_default):
            continue
        lacks = f"the cluster has no StorageClass {name}" if name else "it is empty, and the cluster has no default StorageClass"
        found.append(
            f"{variable}: {lacks}, so the volume is not made unless someone made a PersistentVolume for it. Set it to one of the "
            f"cluster's: {', '.join(sorted(known)) or 'there are none'}"
        )
    return found
