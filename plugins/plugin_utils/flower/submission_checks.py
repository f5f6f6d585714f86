# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is checked before a run is submitted: its datasets, its packages, and room for its outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..kube.api_errors import Forbidden
from ..state import site_indexes
from ..state.ledger import DATASETS, Ledger
from . import outputs_reader, packages
from .app import App
from .cli import FlowerCLI, FlowerError
from .packages import SitePods

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@dataclass(frozen=True)
class Needs:
    """What a run needs.

    Attributes:
        app: what is going to be submitted.
        datasets: names of datasets that every SuperNode must have.
        packages: dependencies that every image must have.
        reach: see C(packages.require).
        min_free: room for outputs that must be left; empty for what is set on the hub.
    """

    app: App
    datasets: Sequence[str]
    packages: Sequence[Requirement]
    reach: Callable[[str], SitePods]
    min_free: str


def check(cli: FlowerCLI, needs: Needs, say: Callable[[str], None]) -> dict[str, Any]:
    """Check what a run needs, in this order: datasets, packages, room for outputs.

    Args:
        cli: Flower's command line on the hub.
        needs: of the run.
        say: shows which sites have which dataset, and which images were not compared.

    Returns:
        For the result of a module: C(datasets), C(packages), C(room) where outputs are kept, and C(warnings).

    Raises:
        FlowerError: something is missing. Nothing was submitted.
    """
    found: dict[str, Any] = {"datasets": check_datasets(cli, needs.datasets, say)}
    found["packages"] = packages.require(cli, needs.app, needs.packages, needs.reach, say)
    room, unknown = outputs_reader.known_room(cli, needs.min_free)
    if room is not None:
        found["room"] = {"size": room.size, "free": room.free, "min_free": room.floor}
    return {**found, "warnings": [*needs.app.warnings, *([unknown] if unknown else [])]}


def check_datasets(cli: FlowerCLI, wanted: Sequence[str], say: Callable[[str], None]) -> dict[str, list[str]]:
    """Check that every SuperNode that is online has some datasets. Without any, nothing is asked.

    Returns:
        Dataset -> sites that have it.

    Raises:
        FlowerError: some lack one, by site and pool; no SuperNode is online; or it cannot be known.
    """
    if not wanted:
        return {}
    hub, namespace = cli.cluster, cli.namespace
    try:
        index = Ledger(hub, namespace, "", check=True).read_datasets()
    except Forbidden as error:
        raise FlowerError(
            f"which sites have the datasets {', '.join(wanted)} is not known: {error.message} The playbook federated.flower.rbac gives data "
            f"scientists the right to read ConfigMap {namespace}/{DATASETS}"
        ) from error
    online = [node for node, facts in cli.nodes().items() if facts.get("status") == "online"]
    if not online:
        raise FlowerError(
            f"no SuperNode is online at {hub.name}, so no site can provide the datasets {', '.join(wanted)}; federated.flower.status says why"
        )
    missing = site_indexes.lacking(index, wanted, online)
    if missing:
        # A reply is bound to the version that it answers.
        doubts = [f"{one}: its reply to that version shows it (federated.flower.join)" for one in site_indexes.doubts(index, wanted, online)]
        raise FlowerError(
            f"nothing was submitted, because SuperNodes that are online lack datasets: {'; '.join([*missing, *doubts])}. Give them the dataset "
            "(supernode_datasets) and run federated.flower.site, or leave it out of flower_run_datasets"
        )
    found = site_indexes.holders(index, wanted)
    for name in dict.fromkeys(wanted):
        say(f"dataset {name}: {', '.join(found[name])}")
    return {name: found[name] for name in wanted}
