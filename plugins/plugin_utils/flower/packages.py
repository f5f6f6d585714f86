# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse a run whose app declares packages that an image lacks, before it is submitted.

The pods in which apps compute are asked: that of the ServerApp, and one of each pool with a SuperNode that is online, at sites that the
identity reaches. What cannot be queried refuses nothing.

Source of the rules: packaging.python.org, «Dependency specifiers» and «Version specifiers», as the library packaging has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
from ..state.ledger import NODES, Ledger
from . import in_pod
from .app import PROJECT, App
from .cli import FlowerCLI, FlowerError

Pod = Mapping[str, Any]
T = TypeVar("T")
#: A place -> what its image lacks, None where apps install their packages when they start, or why it cannot be queried.
Answers = dict[str, "list[str] | ClusterError | None"]

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
# Markers of the kernel, which belong to a node and not to an image: never those of the control node.
_NO_KERNEL = {"platform_release": "", "platform_version": ""}


@dataclass(frozen=True)
class SitePods:
    """How the pods of a site are reached.

    Attributes:
        connect: gives a connection. It may take as long as a login, so it is called in the thread that uses the connection.
        namespace: the site's.
        federation: the federation's name.
    """

    connect: Callable[[], Cluster]
    namespace: str
    federation: str


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
        wanted: its dependencies. Without any, nothing is asked.
        reach: name of a site -> how its pods are reached; raises C(ClusterError) for one whose pods cannot be queried. By one thread, since it reads
            variables of hosts.
        say: shows in one line what was not compared, and why.

    Returns:
        What was compared and fits: C(ServerApp), and C(SITE, pool POOL).

    Raises:
        FlowerError: an image lacks some; a line for each, by site, pool and image. Or there is no SuperLink.
    """
    if not wanted:
        return []
    superlink = cli.wait_for_superlink(_START)  # without it nothing can be submitted
    answers: Answers = {"ServerApp": _attempt(lambda: _ask_serverapp(cli, superlink, wanted))}
    try:
        index = Ledger(cli.cluster, cli.namespace, "", check=True).read(NODES)
        pools, strange = site_indexes.pools_of(index, [node for node, facts in cli.nodes().items() if facts.get("status") == "online"])
    except ClusterError as error:
        pools, strange = {}, []
        answers["ClientApps"] = error
    if strange:
        answers[counted(len(strange), "SuperNode")] = ClusterError("federated.flower.site records of which site it is")
    reached = {site: _attempt(partial(reach, site)) for site in pools}
    with ThreadPoolExecutor(_THREADS) as threads:
        for found in threads.map(lambda site: _ask_site(site, reached[site], pools[site], wanted), pools):
            answers |= found
    places, lines = [], []
    unknown: dict[str, list[str]] = {}
    for place, answer in answers.items():
        if isinstance(answer, ClusterError):
            unknown.setdefault(cleaned(answer.message), []).append(place)
        elif answer is not None:
            places.append(place)
            lines += [f"  {place}, {one}" for one in answer]
    if lines:
        listed = "\n".join(lines)
        raise FlowerError(f"nothing was submitted, because images lack packages that the app {app.name} declares as dependencies:\n{listed}\n{_REMEDY}.")
    if unknown:
        reasons = "; ".join(f"{', '.join(missed)}: {why}" for why, missed in unknown.items())
        say(f"the app's dependencies were not compared with all images: {reasons}")
    return places


def lacking(wanted: Sequence[Requirement], packages: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """What an image with these packages lacks of some requirements, in sentences, each once. C(environment): what markers refer to. Pure."""
    found: dict[str, None] = {}
    for one in wanted:
        try:
            if one.marker is not None and not one.marker.evaluate({**_NO_KERNEL, **environment, "extra": ""}):
                continue
        except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion):
            pass  # one that cannot be evaluated counts, so that it is seen
        version = packages.get(canonicalize_name(one.name))
        if version is None:
            found[f"{one.name}: {one.specifier or 'any version'} is required, and it is not installed"] = None
            continue
        try:
            # Pre-releases count: they are installed. Nothing is known of what comes from a URL.
            fits = bool(one.url) or one.specifier.contains(Version(version), prereleases=True)
        except InvalidVersion:
            fits = not one.specifier
        if not fits:
            is_plain = len(version) <= 60 and version.isascii() and version.isprintable() and version  # it comes from a container of someone else
            found[f"{one.name}: {one.specifier} is required, and {version if is_plain else 'no version'} is installed"] = None
    return list(found)


def _attempt(question: Callable[[], T]) -> T | ClusterError:
    """An answer, or why there is none."""
    try:
        return question()
    except ClusterError as error:
        return error


def _ask_site(site: str, access: SitePods | ClusterError, pools: Sequence[str], wanted: Sequence[Requirement]) -> Answers:
    """What the images of the pools of a site lack."""
    try:
        if isinstance(access, ClusterError):
            raise access
        with access.connect() as cluster, expect_shape(ClusterError("its API server returned unexpected answers")):
            return {f"{site}, pool {pool}": answer for pool, answer in ask_pools(cluster, access, pools, wanted).items()}
    except ClusterError as error:
        return {site: error}


def ask_pools(cluster: Cluster, site: SitePods, pools: Sequence[str], wanted: Sequence[Requirement]) -> Answers:
    """Pool -> what the image lacks in which its ClientApps compute.

    Raises:
        ClusterError: the pods cannot be listed.
    """
    pods = cluster.list("v1", "Pod", site.namespace, labels=proof.pods_query(site.federation, CLIENTAPP, SUPERNODE))
    found: Answers = {}
    for pool in pools:
        own = [pod for pod in pods if proof.labels_of(pod).get(POOL_LABEL) == pool]
        separate = [pod for pod in own if proof.labels_of(pod)[_APP] == CLIENTAPP]
        found[pool] = _attempt(partial(_ask, cluster, separate or own, (SUPEREXEC, SUPERNODE), wanted))
    return found


def _ask_serverapp(cli: FlowerCLI, superlink: Pod, wanted: Sequence[Requirement]) -> list[str] | None:
    """The pods in which ServerApps compute. The SuperLink's pod names the pod of ServerApps if outputs are kept there."""
    hub, namespace = cli.cluster, cli.namespace
    place = (superlink["metadata"].get("annotations") or {}).get(OUTPUTS_POD_ANNOTATION)
    pods: Sequence[Pod]
    if place:
        pods = list(filter(None, [hub.get("v1", "Pod", place, namespace)]))
    elif "subprocess" in (_container(superlink, SUPERLINK).get("args") or []):
        pods = [superlink]
    else:
        pods = hub.list("v1", "Pod", namespace, labels=f"{_APP}={SERVERAPP}")
    return _ask(hub, pods, (SUPEREXEC, SUPERLINK), wanted)


def _ask(cluster: Cluster, pods: Sequence[Pod], containers: Sequence[str], wanted: Sequence[Requirement]) -> list[str] | None:
    """Ask one of some equal pods. Containers: the first of them that a pod has.

    Raises:
        ClusterError: none of them runs, or it cannot be queried.
    """
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        name = next((name for name in containers if _container(pod, name)), "")
        if in_pod.is_running(pod, name):
            break
    else:
        raise ClusterError("none of its pods runs")
    body, meta = _container(pod, name), pod["metadata"]
    args, image = body.get("args") or [], cleaned(str(body["image"]))
    # A SuperLink passes its setting on to the ServerApps that it starts itself; a SuperExec and a SuperNode install nothing by default.
    if _INSTALLS_NOT not in args if name == SUPERLINK else _INSTALLS in args:
        return None
    if not in_pod.may_run(cluster, meta["namespace"], meta["name"]):
        raise ClusterError(f"the right to exec in pod {meta['name']} is missing")
    output = in_pod.run(cluster, meta["namespace"], meta["name"], name, package_program, {}, seconds=_SECONDS)
    if output.rc:
        raise ClusterError(f"the Python of pod {meta['name']} cannot list its packages: {output.stderr}")
    answer = output.object()
    with expect_shape(ClusterError("its Python did not return a list of packages")):
        packages, environment = ({str(key): str(value) for key, value in answer[part].items()} for part in ("packages", "environment"))
    return [f"image {image}: {cleaned(one)}" for one in lacking(wanted, packages, environment)]


def _container(pod: Pod, name: str) -> Mapping[str, Any]:
    return next((one for one in pod["spec"]["containers"] if one["name"] == name), {})
