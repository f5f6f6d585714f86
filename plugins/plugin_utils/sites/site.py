# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site, and what every delivery can do with one.

The steps of a site, in their order: C(preflight), C(numbers), C(make_keys), C(apply), C(restart), C(pod_summary), C(drop_keys); apart from them
C(pull), C(trust), C(apply_apps) and C(remove). Each raises ClusterError for what people should read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..apply.results import Result
from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import SiteAccess
from ..base.values import Object
from ..kube.client import Cluster
from ..pki import certificates
from ..spec.site_spec import SiteSpec

if TYPE_CHECKING:
    from ..rotation.site_proof import Proof
    from ..state.site_indexes import Files

_Value = TypeVar("_Value")

Facts = dict[str, Any]

#: Instead of the identity of a hub, of sites that join a SuperLink that is not in the inventory.
OTHER_SUPERLINK = "none in the inventory"
# A SuperLink refuses a key within a few seconds. A SuperNode that has been ready for longer was accepted, or waits for a SuperLink that is down.
ACCEPTED_SECONDS = 20


class Run(Protocol):
    """What a delivery needs of the run.

    Attributes:
        check: nothing is written.
        show_diff: differences are kept for people.
        rendering: files for a GitOps controller are asked for; what would be applied is given to C(render) instead.
    """

    check: bool
    show_diff: bool
    rendering: bool

    def connect(self, host: str | None = None, *, timeout: float = 30) -> Cluster:
        """A connection to the cluster of an inventory host."""

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        """Record in the audit trail what was changed at a site."""

    def claim(self, host: str, places: Iterable[str]) -> str:
        """Claim some places for a host; returns the other host that has one of them, or an empty text."""

    def say(self, text: str) -> None:
        """Show what is waited for."""

    def render(self, host: str, objects: Iterable[Mapping[str, Any]], site: str = "") -> None:
        """Keep what would be applied in a host's cluster for those files; C(site): for which site, if that is another cluster."""


@dataclass
class Site:
    """One site of a federation.

    Attributes:
        name: of the inventory host.
        spec: what is deployed there.
        access: how it is reached.
        hub: inventory name of the hub.
        hub_namespace: the SuperLink's namespace.
        seconds: how long the site may take for one step.
        image_seconds: how long its nodes may fail to get an image before it is given up; 0 waits as long as for anything else.
        claim: whether to take over what another hub, or another host, deployed there.
        identity: of the hub, which the site records; empty while it is not known.
        given: the variables of the specification.
    """

    name: str
    spec: SiteSpec
    access: SiteAccess
    hub: str = ""
    hub_namespace: str = "flower"
    seconds: int = 300
    image_seconds: int = 0
    claim: bool = False
    identity: str = ""
    given: Facts = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.spec.namespace

    @property
    def federation(self) -> str:
        """The federation's name."""
        return self.spec.federation

    @property
    def has_other_superlink(self) -> bool:
        """Whether its SuperNodes join a SuperLink that is not in the inventory, so that it has no hub."""
        return self.identity == OTHER_SUPERLINK


# What the data of one site can raise that this code did not foresee. It ends that site, and no other.
DATA_FAULTS = (*foreign_data.FAULTS, *getattr(certificates, "UNREADABLE", ()), OSError)  # without the library, it raises nothing


def unexpected(error: Exception) -> str:
    """An error that was not foreseen, as text."""
    return f"{type(error).__name__}: {foreign_data.cleaned(str(error))}"


@dataclass
class StepResult:
    """Outcome of one step. Nothing in it is secret.

    Attributes:
        changed: whether something was changed, or would be.
        objects: the result for each object, in the format of C(apply).
        volumes: what became of the volume claims of a site that was removed, as C(removing.facts).
        diff: entries for C(--diff).
        warnings: sentences.
        requests: requests to API servers.
        msg: a sentence.
        failed: whether it ended with an error after some of it was done; C(msg) is the error then.
        files: which files were written, where the people of the site apply them; None where objects are applied.
    """

    changed: bool = False
    objects: list[dict[str, str]] = field(default_factory=list)
    volumes: list[dict[str, str]] = field(default_factory=list)
    diff: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    requests: int = 0
    msg: str = ""
    failed: bool = False
    files: Files | None = None

    @classmethod
    def of(cls, result: Result, *, failed: str = "") -> StepResult:
        """What became of a list of objects."""
        return cls(
            changed=result.changed,
            objects=list(result.objects),
            diff=list(result.diff),
            warnings=list(result.warnings),
            requests=result.requests,
            msg=failed or result.msg,
            failed=bool(failed),
        )


@dataclass
class KeyResult(StepResult):
    """Outcome of C(make_keys).

    Attributes:
        keys: public facts of the wanted keys, each with C(expected): whether a running pod must have it.
        extra: pool -> names of keys that are no longer wanted.
        client_request: request for the site's client certificate, PEM; empty when it needs none.
        renewed: names of Secrets that all pods share and that were replaced.
        due: names of such Secrets that an earlier run replaced, and that are younger than a pod: its restart did not happen.
        by_hand: whether people apply what is delivered, whenever they do: nothing waits for its SuperNodes.
        certified: whether the site has what replaced its former client certificates, so that these can be revoked.
        certificate: stands in for a client certificate that cannot be issued yet; empty where it always can.
        login: mark of new credentials for the HTTP proxy; empty where they did not change.
        obsolete: Secrets that no pod needs once the site's objects are applied: name -> uid.
    """

    keys: list[Facts] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)
    client_request: str = ""
    renewed: list[str] = field(default_factory=list)
    due: list[str] = field(default_factory=list)
    by_hand: bool = False
    certified: bool = True
    certificate: str = ""
    login: str = ""
    obsolete: dict[str, str] = field(default_factory=dict)


@dataclass
class PreflightResult:
    """Outcome of C(preflight).

    Attributes:
        msg: a sentence.
        warnings: sentences.
        version: of Kubernetes; empty where it cannot be read.
        skew: seconds by which the site's clock is ahead; None where it cannot be read.
        rehearsed: whether the API server was asked to try the objects.
        objects: what was rendered for the checks; empty if nothing was.
    """

    msg: str
    warnings: list[str] = field(default_factory=list)
    version: str = ""
    skew: float | None = None
    rehearsed: bool = False
    objects: Sequence[Object] = ()


@dataclass
class PullResult:
    """Outcome of C(pull).

    Attributes:
        msg: a sentence.
        images: those that were pulled, or would be.
        nodes: on which.
        skipped: why nothing can be pulled beforehand at such a site; empty where it can.
    """

    msg: str = ""
    images: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    skipped: str = ""


#: What SuperNodes may run with in an outdated version.
RESTART_FILES = ("trust", "key", "superexec", "loopback")


@dataclass(frozen=True)
class Restart:
    """Which SuperNodes are restarted, and what is done before.

    Attributes:
        files: of C(RESTART_FILES): of what they must run with the current version.
        mark: of a demand for new shared secrets; empty for none.
        gate: called before each pool; raises ClusterError while nothing may be restarted.
        online: called after each pool with its name; waits for its SuperNodes.
    """

    files: Sequence[str]
    mark: str
    gate: Callable[[], None]
    online: Callable[[str], None]


class on_first_use(Generic[_Value]):
    """A property that is computed when it is first read, once for each object.

    For objects that belong to one thread at a time. C(functools.cached_property) of Python 3.11 holds one lock for all objects of a class while it
    computes (Python documentation, «functools», changed in version 3.12): a site that does not answer would delay all others.
    """

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> _Value:
        value = vars(instance)[self._name] = self._function(instance)
        return value


class SiteBackend(ABC):
    """One site, as its delivery reaches it. See C(registry.Delivery) for what a module has besides a subclass C(Backend).

    What is not abstract has the answer for a site whose pods cannot be reached.
    """

    #: Why the site's pods cannot be reached.
    NO_PODS = ""

    def __init__(self, run: Run, site: Site) -> None:
        self.run, self.site = run, site

    @on_first_use
    def cluster(self) -> Cluster:
        """The connection to the API server by which the site is reached, which is opened on first use: that of the hub unless it is overridden."""
        return self.run.connect(self.site.hub)

    def close(self) -> None:
        """Close the connection. It is opened again when it is needed."""
        if "cluster" in vars(self):
            self.cluster.close()

    def detect_platform(self) -> None:
        """Find out what the site's variables leave to its platform. Before C(preflight), and before anything is rendered."""
        return

    @abstractmethod
    def preflight(self, hub: Facts) -> PreflightResult:
        """Check the site before anything is changed. C(hub): the results of the hub's checks, empty if it was not checked."""

    @abstractmethod
    def numbers(self) -> dict[str, tuple[int, int]]:
        """Pool -> first number and number of the pods that this federation has there, for a site whose ranges are not known."""

    @abstractmethod
    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeyResult:
        """Create the keys and secrets that are missing.

        C(allocation): pool -> C(offset), from the ledger; C(dead): fingerprints of keys to replace.
        """

    @abstractmethod
    def apply(self, objects: Sequence[Object], gate: Callable[[], None]) -> StepResult:
        """Apply the site's objects and wait for its pods. C(gate): called before ClientApps in their own pods are replaced."""

    @abstractmethod
    def apply_apps(self, objects: Sequence[Object], gate: Callable[[], None], seconds: int) -> StepResult:
        """C(apply) for its ClientApps alone."""

    def remove_apps(self, seconds: float) -> StepResult:
        """Delete its ClientApps in their own pods, and wait for that."""
        raise ClusterError(f"clientapp_state: absent is for sites with flower_delivery: direct, and this one has {self.site.access.delivery}.")

    @abstractmethod
    def restart(self, wanted: Restart, result: Facts) -> None:
        """Restart SuperNodes that run with outdated files; fills in C(changed), C(restarted) and C(renewed) as it goes."""

    @abstractmethod
    def trust(self, wanted: Proof, result: Facts) -> None:
        """Deploy the CA bundle and test it; fills in C(changed), C(trust), C(pods), C(accepts), C(stale), C(trouble), C(msg)."""

    @abstractmethod
    def pod_summary(self) -> str:
        """Where the site's pods run, and their state, for a site whose SuperNodes are not online."""

    @abstractmethod
    def remove(self, *, volumes: bool) -> StepResult:
        """Take the site's objects away; its volumes, too, if that is wanted."""

    def drop_keys(self, extra: Mapping[str, Sequence[str]]) -> None:
        """Delete keys that are no longer needed: pool -> names."""
        return

    def pull(self, objects: Sequence[Object], seconds: int) -> PullResult:
        """Have the nodes of its pods pull what C(objects) has of new images, within C(seconds). No pod of the site is touched."""
        return PullResult(skipped=f"{self.NO_PODS}: its images are pulled when its SuperNodes are replaced")

    def measure(self, published: Mapping[str, str], idle: float = 0) -> dict[str, Facts] | None:
        """Pool -> what one of its SuperNodes measures, see C(direct_connection); None where pods cannot be queried.

        C(published): C(address) and C(server_name) of the hub.
        """
        return None

    def connectivity_error(self) -> tuple[str, str]:
        """Whether running SuperNodes lost the hub by what C(apply) changed: a fault and a warning, either may be empty.

        At the hub they count as online for a minute. Empty, too, where pods cannot be queried. Not for a site that is denied access.
        """
        return "", ""

    def accepted(self, keys: Sequence[Facts], expected: int) -> tuple[int, str]:
        """How many SuperNodes have been ready for C(ACCEPTED_SECONDS), and what the pods of the others report.

        Raises:
            ClusterError: pods are not ready in time, though no SuperNode has ended: it is not their keys.
        """
        return 0, self.NO_PODS

    def pods(self) -> list[Object] | None:
        """Live pods of the site's SuperNodes; None where they cannot be reached."""
        return None

    def restart_pods(self, pods: Sequence[Object]) -> None:
        """Delete exactly these pods of C(pods); their controllers replace them."""
        raise ClusterError(f"{self.site.name}: {self.NO_PODS}")
