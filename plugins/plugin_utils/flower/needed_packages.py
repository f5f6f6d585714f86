# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse a run whose app declares packages that an image lacks, before it is submitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..base import package_list
from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden
from ..ledger import package_index
from ..ledger.package_index import Held
from ..ledger.store import PACKAGES, Ledger
from . import image_packages, requirements
from .app import PROJECT, App
from .cli import FlowerCLI, FlowerError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_OFF = "flower_run_packages_check=false"
_REMEDY = (
    "Build images with what is missing (superlink_serverapp_image, supernode_superexec_image, or flower_app_image for both) and run "
    f"federated.flower.site, correct [project] dependencies in the app's {PROJECT}, or submit with -e {_OFF}"
)
_RECORD = "federated.flower.site records it"
SERVER = "ServerApp"
_SHOWN = 3  # node ids in a message
_START = 60.0  # seconds that the SuperLink may take, as when a run is submitted


@dataclass
class Checked:
    """What became of the comparison.

    Attributes:
        places: what was compared: C(ServerApp), and C(SITE, pool POOL).
        unknown: sentences about what could not be compared.
    """

    places: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """A warning about all that could not be compared."""
        if not self.unknown:
            return []
        return [f"the app's dependencies were not compared with all images: {'; '.join(self.unknown)}"]


@dataclass(frozen=True)
class Place:
    """An image in use.

    Attributes:
        name: for messages: C(ServerApp), or site and pool.
        held: what is known of it.
    """

    name: str
    held: Held


def declared(app: App) -> list[Requirement]:
    """The dependencies that an app declares.

    Raises:
        FlowerError: some are not requirements.
    """
    found, faults = requirements.parse(app.dependencies)
    if faults:
        raise FlowerError(
            f"the app {app.name} declares dependencies in its {PROJECT} that cannot be read: {'; '.join(faults)}. Correct them, or submit "
            f"with -e {_OFF}"
        )
    return found


def require(cli: FlowerCLI, app: App, wanted: Sequence[Requirement]) -> Checked:
    """Compare the dependencies of an app with the images of the ServerApp and of all ClientApps whose SuperNodes are online.

    What is not known refuses nothing.

    Args:
        cli: Flower's command line on the hub.
        app: the app, for messages.
        wanted: its dependencies. Without any, nothing is asked.

    Raises:
        FlowerError: an image lacks some; a line for each, by site, pool and image. Or there is no SuperLink.
    """
    checked = Checked()
    if not wanted:
        return checked
    places = _places(cli, checked)
    trial = Checked()
    if compare(places[:1], wanted, trial) and places[0].name == SERVER:
        # The hub may have been deployed without its sites since this was recorded.
        places[0] = Place(SERVER, _fresh(cli, places[0].held))
    lines = compare(places, wanted, checked)
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        raise FlowerError(
            f"nothing was submitted, because images lack packages that the app {app.name} declares as dependencies:\n{listed}\n{_REMEDY}."
        )
    return checked


def compare(places: Sequence[Place], wanted: Sequence[Requirement], checked: Checked) -> list[str]:
    """What images lack, a line for each package and place; completes C(checked). Pure."""
    lines = []
    for place in places:
        held = place.held
        if held.installs:  # apps install there what they need
            continue
        if not held.listed:
            checked.unknown.append(f"{place.name}: {held.why or _RECORD}")
            continue
        try:
            found = requirements.misfits(wanted, package_list.unpack(held.listed))
        except (ValueError, RecursionError) as error:  # packages can require each other without end
            checked.unknown.append(f"{place.name}: its list of packages cannot be read: {error}")
            continue
        checked.places.append(place.name)
        lines += [f"{place.name}, image {held.image}: {one}" for one in found]
    return lines


def _places(cli: FlowerCLI, checked: Checked) -> list[Place]:
    hub, namespace = cli.cluster, cli.namespace
    index: package_index.Index = {}
    try:
        index = Ledger(hub, namespace, "", check=True).read_packages()
    except Forbidden:
        checked.unknown.append(
            f"ConfigMap {namespace}/{PACKAGES} on {hub.name} cannot be read: federated.flower.rbac gives data scientists that right"
        )
    except ClusterError as error:
        checked.unknown.append(error.message)
    if checked.unknown:
        return []
    server = package_index.of_serverapp(index)
    if server is None:
        checked.unknown.append(f"{SERVER}: {_RECORD}")
    places = [] if server is None else [Place(SERVER, server)]
    cli.wait_for_superlink(_START)  # without it nothing can be submitted
    try:
        nodes = cli.nodes()
    except ClusterError as error:
        checked.unknown.append(f"which SuperNodes are online is not known: {error.message}")
        return places
    online = [node for node, facts in nodes.items() if facts.get("status") == "online"]
    found, strange = package_index.of_nodes(index, online)
    if strange:
        named = ", ".join(strange[:_SHOWN]) + (", …" if len(strange) > _SHOWN else "")
        checked.unknown.append(f"{len(strange)} SuperNodes ({named}): {_RECORD}")
    return places + [Place(f"{site}, pool {pool}", held) for site, pool, held in sorted(found, key=lambda one: one[:2])]


def _fresh(cli: FlowerCLI, known: Held) -> Held:
    """What the ServerApp's image holds now, if the identity may ask its pod; else what was recorded."""
    hub, namespace = cli.cluster, cli.namespace
    try:
        if not all(hub.access_review([{"verb": "list", "resource": "pods", "namespace": namespace}])):
            return known
        return image_packages.of_serverapp(hub, namespace, known=known) or known
    except ClusterError:
        return known
