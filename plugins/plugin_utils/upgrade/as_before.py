# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site or the hub as it was before an upgrade: its release and images. Everything else stays as the inventory says. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.object_names import SUPEREXEC, SUPERLINK, SUPERNODE, TUNNEL
from ..spec.pool_spec import PoolSpec
from ..spec.site_spec import SiteSpec

if TYPE_CHECKING:
    from .what_runs import What

# Names of containers.
SIDECAR, GATEWAY = "sidecar", "gateway"


def site_as_before(spec: SiteSpec, was: What) -> SiteSpec:
    """The site with the release and the images of then; a pool that is new keeps its own images."""
    images: dict[str, dict[str, str]] = {}
    for one in was["workloads"]:
        images.setdefault(str(one["pool"]), {}).update(one["images"] or {})

    def pool(new: PoolSpec) -> PoolSpec:
        old = images.get(new.name, {})
        return replace(new, image=old.get(SUPERNODE, new.image), superexec_image=old.get(SUPEREXEC, new.superexec_image))

    of_all = {container: image for old in images.values() for container, image in old.items()}  # all pools have the same helpers
    return replace(
        spec,
        version=was["version"],
        sidecar_image=of_all.get(SIDECAR, spec.sidecar_image),
        tunnel_image=of_all.get(TUNNEL, spec.tunnel_image),
        pools=[pool(one) for one in spec.pools],
    )


def hub_as_before(was: What) -> dict[str, Any]:
    """Variables of the role superlink with the release and the images of then."""
    images = {name: image for one in was["workloads"] for name, image in (one["images"] or {}).items()}
    variables = {
        "superlink_version": was["version"],
        "superlink_image": images.get(SUPERLINK),
        "superlink_serverapp_image": images.get(SUPEREXEC),
        "superlink_gateway_image": images.get(GATEWAY),
    }
    return {name: value for name, value in variables.items() if value}
