# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is checked before a run is submitted: its datasets, its packages, and room for its outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import needed_datasets, needed_packages, outputs_reader
from .app import App
from .cli import FlowerCLI
from .needed_packages import SitePods

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def require(
    cli: FlowerCLI,
    app: App,
    *,
    datasets: Sequence[str],
    packages: Sequence[Requirement],
    reach: Callable[[str], SitePods],
    min_free: str,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Check what a run needs.

    Args:
        cli: Flower's command line on the hub.
        app: what is going to be submitted.
        datasets: names of datasets that every SuperNode must have.
        packages: dependencies that every image must have.
        reach: see C(needed_packages.require).
        min_free: room for outputs that must be left; empty for what is set on the hub.
        say: shows which sites have which dataset, and which images were not compared.

    Returns:
        For the result of a module: C(datasets), C(packages), C(room) where outputs are kept, and C(warnings).

    Raises:
        FlowerError: something is missing. Nothing was submitted.
    """
    found: dict[str, Any] = {"datasets": needed_datasets.require(cli, datasets, say)}
    found["packages"] = needed_packages.require(cli, app, packages, reach, say)
    room, unknown = outputs_reader.known_room(cli, min_free)
    if room is not None:
        found["room"] = {"size": room.size, "free": room.free, "min_free": room.floor}
    return {**found, "warnings": [*app.warnings, *([unknown] if unknown else [])]}
