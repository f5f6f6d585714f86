# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse a run whose app declares packages that an image lacks, before it is submitted.

The pods in which apps compute are asked: that of the ServerApp, and one of each pool with a SuperNode that is online, at sites that the
identity reaches. What cannot be asked refuses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.errors import ClusterError
from ..base.foreign_data import cleaned, expect_shape
from ..base.sizes import counted
from ..kube.client import Cluster
from ..ledger import node_index
from ..ledger.store import Ledger
from . import image_packages, requirements
from .app import PROJECT, App
from .cli import FlowerCLI, FlowerError
from .image_packages import Image

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_OFF = "flower_run_packages_check=false"
_REMEDY = (
    "Build images with what is missing (superlink_serverapp_image, supernode_superexec_image, or flower_app_image for both) and run "
    f"federated.flower.site, correct [project] dependencies in the app's {PROJECT}, or submit with -e {_OFF}"
)
SERVER = "ServerApp"
_THREADS = 16
_START = 60.0  # seconds that the SuperLink may take, as when a run is submitted


@dataclass(frozen=True)
class SitePods:
    """How the pods of a site are reached.

    Attributes:
        cluster: a connection, used by one thread.
        namespace: the site's.
        federation: the federation's name.
    """

    cluster: Cluster
    namespace: str
    federation: str


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


def require(
    cli: FlowerCLI, app: App, wanted: Sequence[Requirement], reach: Callable[[str], SitePods], say: Callable[[str], None]
) -> list[str]:
    """Compare the dependencies of an app with the images of the ServerApp and of all ClientApps whose SuperNodes are online.

    Args:
        cli: Flower's command line on the hub.
        app: the app, for messages.
        wanted: its dependencies. Without any, nothing is asked.
        reach: name of a site -> how its pods are reached; raises C(ClusterError) for one whose pods cannot be asked.
        say: shows in one line what was not compared, and why.

    Returns:
        What was compared and fits: C(ServerApp), and C(SITE, pool POOL).

    Raises:
        FlowerError: an image lacks some; a line for each, by site, pool and image. Or there is no SuperLink.
    """
    if not wanted:
        return []
    images, unknown = _images(cli, reach)
    places, lines = [], []
    for place, image in images.items():
        if image.packages is None:
            continue
        try:
            found = requirements.misfits(wanted, image.packages)
        except RecursionError:  # packages can require each other without end
            unknown.setdefault("its packages require each other without end", []).append(place)
            continue
        places.append(place)
        lines += [f"{place}, image {image.name}: {cleaned(str(one))}" for one in found]
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        raise FlowerError(
            f"nothing was submitted, because images lack packages that the app {app.name} declares as dependencies:\n{listed}\n{_REMEDY}."
        )
    if unknown:
        reasons = "; ".join(f"{', '.join(missed)}: {why}" for why, missed in unknown.items())
        say(f"the app's dependencies were not compared with all images: {reasons}")
    return places


def _images(cli: FlowerCLI, reach: Callable[[str], SitePods]) -> tuple[dict[str, Image], dict[str, list[str]]]:
    """Place -> its image; and why others could not be asked -> these."""
    images: dict[str, Image] = {}
    unknown: dict[str, list[str]] = {}

    def miss(place: str, error: ClusterError) -> None:
        unknown.setdefault(cleaned(error.message), []).append(place)

    pod = cli.wait_for_superlink(_START)  # without it nothing can be submitted
    try:
        images[SERVER] = image_packages.of_serverapp(cli, pod)
    except ClusterError as error:
        miss(SERVER, error)
    try:
        pools, strange = _online(cli)
    except ClusterError as error:
        miss("ClientApps", error)
        return images, unknown
    if strange:
        miss(counted(len(strange), "SuperNode"), ClusterError("federated.flower.site records of which site it is"))
    found: dict[str, SitePods] = {}
    for site in pools:
        try:
            found[site] = reach(site)
        except ClusterError as error:
            miss(site, error)

    def ask(site: str) -> dict[str, Image | ClusterError] | ClusterError:
        access = found[site]
        try:
            with access.cluster, expect_shape(ClusterError("its API server gives answers of another form")):
                return image_packages.of_pools(access.cluster, access.namespace, access.federation, pools[site])
        except ClusterError as error:
            return error

    with ThreadPoolExecutor(_THREADS) as threads:
        for site, answer in zip(found, threads.map(ask, found)):
            if isinstance(answer, ClusterError):
                miss(site, answer)
                continue
            for pool, image in answer.items():
                place = f"{site}, pool {pool}"
                if isinstance(image, Image):
                    images[place] = image
                else:
                    miss(place, image)
    return images, unknown


def _online(cli: FlowerCLI) -> tuple[dict[str, list[str]], Collection[str]]:
    """Site -> its pools with a SuperNode that is online; and those that are online and of no known site."""
    index = Ledger(cli.cluster, cli.namespace, "", check=True).read_nodes()
    online = [node for node, facts in cli.nodes().items() if facts.get("status") == "online"]
    return node_index.pools_of(index, online)
