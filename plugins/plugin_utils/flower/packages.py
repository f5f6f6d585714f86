# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse a run whose app declares packages that an image lacks, before it is submitted.

The pods in which apps compute are asked: that of the ServerApp, and one of each pool with a SuperNode that is online, at sites that the
identity reaches. What cannot be asked refuses nothing.

Source of the rules: packaging.python.org, «Dependency specifiers» and «Version specifiers», as the library packaging has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

try:
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version
except ImportError:  # ansible-core needs it; only the documentation is read without it
    pass

from ..base.errors import ClusterError
from ..base.foreign_data import cleaned, expect_shape
from ..base.formats import counted
from ..base.labels import POOL_LABEL
from ..base.names import CLIENTAPP
from ..base.object_names import OUTPUTS_POD_ANNOTATION, SERVERAPP, SUPEREXEC, SUPERLINK, SUPERNODE
from ..kube.client import Cluster
from ..marks import proof
from ..programs import package_program
from ..state import site_indexes
from ..state.ledger import Ledger
from . import in_pod
from .app import PROJECT, App
from .cli import FlowerCLI, FlowerError

Pod = Mapping[str, Any]
T = TypeVar("T")

_OFF = "flower_run_packages_check=false"
_REMEDY = (
    "Build images with what is missing (superlink_serverapp_image, supernode_superexec_image, or flower_app_image for both) and run "
    f"federated.flower.site, correct [project] dependencies in the app's {PROJECT}, or submit with -e {_OFF}"
)
_THREADS = 16
_START = 60.0  # seconds that the SuperLink may take, as when a run is submitted
_SECONDS = 60
_APP = "app.kubernetes.io/name"
_INSTALLS, _INSTALLS_NOT = (f"--{word}-runtime-dependency-installation" for word in ("allow", "disable"))
# Flower's templates declare flwr[simulation]. Its packages simulate a federation on one machine; a deployed one does not use them.
_UNUSED = ("flwr", "simulation")
# Markers of the kernel, which belong to a node and not to an image: never those of the control node.
_NO_KERNEL = {"platform_release": "", "platform_version": ""}


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


@dataclass(frozen=True)
class Image:
    """The image of a container in which apps compute.

    Attributes:
        name: its reference in the pod.
        packages: normalized name -> version; None where apps install their packages when they start.
        environment: what markers of requirements refer to.
        extras: name -> extra -> its requirements.
    """

    name: str
    packages: Mapping[str, str] | None
    environment: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)


def declared(app: App) -> list[Requirement]:
    """The dependencies that an app declares.

    Raises:
        FlowerError: some are not requirements.
    """
    found, faults = parse(app.dependencies)
    if faults:
        raise FlowerError(
            f"the app {app.name} declares dependencies in its {PROJECT} that cannot be read: {'; '.join(faults)}. Correct them, or submit "
            f"with -e {_OFF}"
        )
    return found


def parse(texts: Sequence[str]) -> tuple[list[Requirement], list[str]]:
    """Read requirements; returns them, and sentences about those that are none."""
    found, faults = [], []
    for text in texts:
        try:
            found.append(Requirement(text))
        except InvalidRequirement as error:
            faults.append(f"{text!r} is not a requirement ({str(error).splitlines()[0]})")
    return found, faults


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
    places, lines = [], []
    unknown: dict[str, list[str]] = {}
    for place, image in _images(cli, reach).items():
        if isinstance(image, ClusterError):
            unknown.setdefault(cleaned(image.message), []).append(place)
        elif image.packages is not None:
            places.append(place)
            lines += [f"  {place}, image {image.name}: {cleaned(one)}" for one in lacking(wanted, image)]
    if lines:
        listed = "\n".join(lines)
        raise FlowerError(f"nothing was submitted, because images lack packages that the app {app.name} declares as dependencies:\n{listed}\n{_REMEDY}.")
    if unknown:
        reasons = "; ".join(f"{', '.join(missed)}: {why}" for why, missed in unknown.items())
        say(f"the app's dependencies were not compared with all images: {reasons}")
    return places


def lacking(wanted: Sequence[Requirement], image: Image) -> list[str]:
    """What an image lacks of some requirements and of the extras that they name, in sentences, each once. Pure."""
    found: dict[str, None] = {}
    seen = {_UNUSED}
    waiting = [(one, "", "") for one in wanted]
    while waiting:
        one, extra, of = waiting.pop(0)
        if not _applies(one, image, extra):
            continue
        name = canonicalize_name(one.name)
        version = (image.packages or {}).get(name)
        title = f"{one.name} (required by {of})" if of else one.name
        if version is None:
            found[f"{title}: {one.specifier or 'any version'} is required, and it is not installed"] = None
            continue
        if not _fits(one, version):
            found[f"{title}: {one.specifier} is required, and {_printable(version)} is installed"] = None
        for more in sorted(map(canonicalize_name, one.extras)):
            if (name, more) not in seen:
                seen.add((name, more))
                waiting += [(inner, more, f"{one.name}[{more}]") for inner in parse(image.extras.get(name, {}).get(more, ()))[0]]
    return list(found)


def _applies(wanted: Requirement, image: Image, extra: str) -> bool:
    """Whether a requirement counts in the image's environment. One that cannot be evaluated counts, so that it is seen."""
    try:
        return wanted.marker is None or wanted.marker.evaluate({**_NO_KERNEL, **image.environment, "extra": extra})
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion):
        return True


def _fits(wanted: Requirement, version: str) -> bool:
    """Whether a version is in the range. Pre-releases count: they are installed. Nothing is known of what comes from a URL."""
    try:
        return bool(wanted.url) or wanted.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return not wanted.specifier


def _printable(version: str) -> str:
    """A version for people; it comes from a container of someone else."""
    return version if len(version) <= 60 and version.isascii() and version.isprintable() and version else "no version"


def _attempt(question: Callable[[], T]) -> T | ClusterError:
    """An answer, or why there is none."""
    try:
        return question()
    except ClusterError as error:
        return error


def _images(cli: FlowerCLI, reach: Callable[[str], SitePods]) -> dict[str, Image | ClusterError]:
    """Place -> its image, or why it cannot be asked."""
    superlink = cli.wait_for_superlink(_START)  # without it nothing can be submitted
    images: dict[str, Image | ClusterError] = {"ServerApp": _attempt(partial(_serverapp_image, cli, superlink))}
    online = _attempt(partial(_online_pools, cli))
    if isinstance(online, ClusterError):
        return images | {"ClientApps": online}
    pools, strange = online
    if strange:
        images[counted(len(strange), "SuperNode")] = ClusterError("federated.flower.site records of which site it is")
    reached = {site: _attempt(partial(reach, site)) for site in pools}
    with ThreadPoolExecutor(_THREADS) as threads:
        for found in threads.map(lambda site: _site_images(site, reached[site], pools[site]), pools):
            images |= found
    return images


def _online_pools(cli: FlowerCLI) -> tuple[dict[str, list[str]], list[str]]:
    """Site -> its pools with a SuperNode that is online; and those that are online and of no known site."""
    index = Ledger(cli.cluster, cli.namespace, "", check=True).read_nodes()
    return site_indexes.pools_of(index, [node for node, facts in cli.nodes().items() if facts.get("status") == "online"])


def _site_images(site: str, access: SitePods | ClusterError, pools: Sequence[str]) -> dict[str, Image | ClusterError]:
    """Place -> its image, or why it cannot be asked, of the pools of a site."""
    if isinstance(access, ClusterError):
        return {site: access}
    try:
        with access.cluster, expect_shape(ClusterError("its API server gives answers of another form")):
            found = pool_images(access, pools)
    except ClusterError as error:
        return {site: error}
    return {f"{site}, pool {pool}": image for pool, image in found.items()}


def pool_images(site: SitePods, pools: Sequence[str]) -> dict[str, Image | ClusterError]:
    """Pool -> the image in which its ClientApps compute, or why it cannot be asked.

    Raises:
        ClusterError: the pods cannot be listed.
    """
    pods = site.cluster.list("v1", "Pod", site.namespace, labels=proof.pods_query(site.federation, CLIENTAPP, SUPERNODE))
    found = {}
    for pool in pools:
        own = [pod for pod in pods if proof.labels_of(pod).get(POOL_LABEL) == pool]
        separate = [pod for pod in own if proof.labels_of(pod)[_APP] == CLIENTAPP]
        found[pool] = _attempt(partial(_image, site.cluster, separate or own, (SUPEREXEC, SUPERNODE)))
    return found


def _serverapp_image(cli: FlowerCLI, superlink: Pod) -> Image:
    """The image in which ServerApps compute. The SuperLink's pod names the pod of ServerApps if outputs are kept there."""
    hub, namespace = cli.cluster, cli.namespace
    place = (superlink["metadata"].get("annotations") or {}).get(OUTPUTS_POD_ANNOTATION)
    pods: Sequence[Pod]
    if place:
        pods = list(filter(None, [hub.get("v1", "Pod", place, namespace)]))
    elif "subprocess" in (_container(superlink, SUPERLINK).get("args") or []):
        pods = [superlink]
    else:
        pods = hub.list("v1", "Pod", namespace, labels=f"{_APP}={SERVERAPP}")
    return _image(hub, pods, (SUPEREXEC, SUPERLINK))


def _image(cluster: Cluster, pods: Sequence[Pod], containers: Sequence[str]) -> Image:
    """The image of some equal pods, of which one is asked. Containers: the first of them that a pod has.

    Raises:
        ClusterError: none of them runs, or it cannot be asked.
    """
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        name = next((name for name in containers if _container(pod, name)), "")
        if _runs(pod, name):
            break
    else:
        raise ClusterError("none of its pods runs")
    body, meta = _container(pod, name), pod["metadata"]
    args, image = body.get("args") or [], cleaned(str(body["image"]))
    # A SuperLink passes its setting on to the ServerApps that it starts itself; a SuperExec and a SuperNode install nothing by default.
    if _INSTALLS_NOT not in args if name == SUPERLINK else _INSTALLS in args:
        return Image(image, None)
    if not in_pod.may_run(cluster, meta["namespace"], meta["name"]):
        raise ClusterError(f"the right to exec in pod {meta['name']} is missing")
    output = in_pod.run(cluster, meta["namespace"], meta["name"], name, package_program, {}, seconds=_SECONDS)
    if output.rc:
        raise ClusterError(f"the Python of pod {meta['name']} cannot list its packages: {output.said}")
    return read_packages(image, output.object())


def read_packages(image: str, answer: Mapping[str, Any]) -> Image:
    """An image with the answer of C(package_program), which comes from a container of someone else.

    Raises:
        ClusterError: it is not a list of packages.
    """
    with expect_shape(ClusterError("its Python answers with something else than a list of packages")):
        packages, environment = ({str(name): str(value) for name, value in answer[part].items()} for part in ("packages", "environment"))
        extras = {
            name: {extra: [str(text) for text in [*texts]] for extra, texts in named.items()} for name, named in answer["extras"].items()
        }
    return Image(image, packages, environment, extras)


def _container(pod: Pod, name: str) -> Mapping[str, Any]:
    return next((one for one in pod["spec"]["containers"] if one["name"] == name), {})


def _runs(pod: Pod, container: str) -> bool:
    listed = (pod.get("status") or {}).get("containerStatuses") or []
    running = any(one["name"] == container and "running" in (one.get("state") or {}) for one in listed)
    return running and not pod["metadata"].get("deletionTimestamp")
