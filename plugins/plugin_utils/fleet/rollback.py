# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Roll a site or the hub back to the release and the images that ran before an upgrade. Everything else stays as the inventory says. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..base.object_names import SUPEREXEC, SUPERLINK, SUPERNODE, TUNNEL
from ..flower import known_releases
from ..spec.site_spec import PoolSpec, SiteSpec
from .flower_versions import Versions

# Names of containers.
SIDECAR, GATEWAY = "sidecar", "gateway"


def former_site(spec: SiteSpec, former: Versions) -> SiteSpec:
    """A site with its former release and images; a pool that is new keeps its own images."""
    images: dict[str, dict[str, str]] = {}
    for one in former["workloads"]:
        images.setdefault(str(one["pool"]), {}).update(one["images"] or {})

    def pool(new: PoolSpec) -> PoolSpec:
        old = images.get(new.name, {})
        return replace(new, image=old.get(SUPERNODE, new.image), superexec_image=old.get(SUPEREXEC, new.superexec_image))

    of_all = {container: image for old in images.values() for container, image in old.items()}  # all pools have the same helpers
    return replace(
        spec,
        version=former["version"],
        sidecar_image=of_all.get(SIDECAR, spec.sidecar_image),
        tunnel_image=of_all.get(TUNNEL, spec.tunnel_image),
        pools=[pool(one) for one in spec.pools],
    )


def former_hub(former: Versions) -> dict[str, Any]:
    """Variables of the role superlink with the former release and images."""
    images = {name: image for one in former["workloads"] for name, image in (one["images"] or {}).items()}
    variables = {
        "superlink_version": former["version"],
        "superlink_image": images.get(SUPERLINK),
        "superlink_serverapp_image": images.get(SUPEREXEC),
        "superlink_gateway_image": images.get(GATEWAY),
    }
    return {name: value for name, value in variables.items() if value}


def unreadable_since(former: str, live: str, wanted: str, *, never_started: bool) -> str:
    """The release in whose format the database may be, and which the former release cannot open; empty if it can.

    A SuperLink changes the format of its database when it starts. What counts is every release that may have opened it since.

    Args:
        former: release that ran before the upgrade.
        live: release of the SuperLink when this run of the upgrade began; empty if it is not known.
        wanted: release that it was to run.
        never_started: whether a SuperLink was never started with it in this run.
    """
    opened = [live] if never_started else [wanted, live]
    return next((one or "a release that is not known" for one in opened if not known_releases.same_database(former, one)), "")
