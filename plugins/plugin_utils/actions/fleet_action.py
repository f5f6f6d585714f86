# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base of the actions that work on all sites of a batch in one task.

A task of every host costs each of them a fork, in which Ansible templates the host's variables once more. So such an action runs
C(run_once), evaluates the variables of all hosts itself, exactly as a task of each host would see them, and works on the sites in
threads. The result of each site is in the result; M(federated.flower.site_result) makes it the result of each host.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.utils.display import Display

from ..base.errors import ClusterError
from ..base.foreign_data import without_controls
from ..base.object_names import SiteAccess
from ..base.problems import messages
from ..base.values import boolean
from ..checks.site_rules import site_problems
from ..checks.variables import with_origins
from ..fleet.outcome import Outcomes
from ..sites.registry import DELIVERIES, access_of
from ..sites.site import DATA_FAULTS, OTHER_SUPERLINK, Facts, Site, SiteBackend, unexpected
from ..spec.site_spec import SiteSpec
from .cluster_action import ClusterAction, first_line
from .role_options import BESIDE, role_defaults, role_options, trusted, variable_faults
from .role_variables import Defaults, HostVariables

display = Display()

ROLE = "supernode"
# Variables of the role supernode that are no part of the specification.
_PREFIX, APART = "supernode_", ("hub", "state", "superlink", "wait_timeout", "partitions", "repartition", "claim", "ocm_trust_labels")
_CHECKED = ("state", "superlink", "wait_timeout", "partitions")
# Facts of the play that are not in a host's own variables.
_PLAY = ("ansible_play_hosts_all", "ansible_play_hosts", "ansible_play_batch", "ansible_limit", "ansible_check_mode")
# A thread costs next to nothing; most of the time of a site is waiting.
_THREADS = 16
_FORKS = 5  # Ansible's default


def site_of(name: str, given: Mapping[str, Any], access: SiteAccess, *, seconds: int = 300) -> Site:
    """A site, from the variables of the role supernode of its host, evaluated. C(seconds): how long it may take for one step.

    Raises:
        ClusterError: the variables have faults, and cannot even be read.
    """
    variables: Facts = {
        variable[len(_PREFIX) :]: value
        for variable, value in given.items()
        if variable.startswith(_PREFIX) and (variable[len(_PREFIX) :] not in APART or variable[len(_PREFIX) :] in _CHECKED)
    }
    variables |= {"cluster": name, "allocation": {}, "client_certificate": "", **access._asdict()}
    try:
        spec = SiteSpec.parse(variables)
    except DATA_FAULTS as error:
        raise ClusterError("\n".join(messages(site_problems(variables))) or f"its variables cannot be read: {unexpected(error)}") from error
    claim = boolean(given.get("supernode_claim"))
    identity = OTHER_SUPERLINK if given.get("supernode_superlink") else ""
    return Site(name, spec, access, str(given["supernode_hub"]), spec.hub_namespace, seconds, claim=claim, identity=identity, given=variables)


class FleetAction(ClusterAction):
    """An action on all sites of a batch, with the option C(sites)."""

    #: Each site, and the hub, has its own access, from its variables.
    AUTH = {}

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called by Ansible."""
        #: What identifies a place (a uid, or an address and a namespace) -> the host that is deployed there.
        self._claims: dict[str, str] = {}
        #: Sites with a note for the audit trail.
        self._noted_sites: set[str] = set()
        self.reset()
        return super().run(tmp, task_vars)

    def may_end_play(self, result: Mapping[str, Any]) -> bool:
        """See C(ClusterAction). M(federated.flower.site_result) fails the host of each site that failed."""
        sites = result.get("sites") or {}
        all_failed = bool(sites) and all(one.get("failed") for one in sites.values())
        return (all_failed and not self.is_step) or super().may_end_play(result)

    @abstractmethod
    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Work on the sites whose variables are valid; return additional results."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Evaluate and check the variables of all sites, work on them, and return the result of each."""
        self.begin_notes()
        given = params["sites"]
        names = list(task_vars["ansible_play_batch"]) if given is None else given
        forks = int(task_vars.get("ansible_forks") or _FORKS)
        outcomes = Outcomes(self, names, forks if forks < _FORKS else max(_THREADS, forks))  # fewer than usual are asked for on purpose
        sites: dict[str, Site] = {}
        for name in names:
            try:
                if given is None and not self._is_meant(name):
                    del outcomes.sites[name]
                    continue
                sites[name] = self.site(name)
                # What templates is not for several threads: all that they need is evaluated here.
                if DELIVERIES[sites[name].access.delivery].own_access:
                    self.auth_of(name)
                if not sites[name].has_other_superlink:
                    self.auth_of(sites[name].hub)
            except ClusterError as error:
                sites.pop(name, None)
                outcomes.fail(name, error.message)
            except DATA_FAULTS as error:
                sites.pop(name, None)
                outcomes.fail(name, f"its variables cannot be read: {unexpected(error)}")
        more = self.work(params, sites, outcomes)
        for name, outcome in outcomes.sites.items():
            if outcome.changed and name not in self._noted_sites:
                self.note(name, words=[f"{self._task.action.rpartition('.')[2]}: {outcome.msg or 'changed'}"])
            self.note(name, diff=outcome.diff)
        failed = [name for name, outcome in outcomes.sites.items() if outcome.failed]
        count = f"{len(outcomes.sites)} sites" + (f", failed: {', '.join(failed)}" if failed else "")
        # Each host reports its own result: what is changed or failed here would be counted for this host.
        result = {"changed": False, "msg": count, **more, "sites": outcomes.as_dict()}
        return self.public(result) if failed else result

    def reset(self) -> None:
        """Evaluate all variables again: those of hosts may differ from what they were in the task before."""
        self._by_host, self._auth = {}, dict[str, dict[str, Any]]()
        self._defaults = Defaults(role_defaults(ROLE).values)
        #: Variables and values of sites in which no fault was found.
        self._good: set[tuple[str, str]] = set()

    # ---- what a delivery needs of a run -----------------------------------------------------------------------------

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        """See C(ClusterAction)."""
        noted = {kind: listed for kind, found in facts.items() if (listed := list(found))}
        if site and noted:
            self._noted_sites.add(site)
        super().note(site, **noted)

    def claim(self, host: str, places: Iterable[str]) -> str:
        """Claim some places for a host; returns the other host that has one of them, or an empty text."""
        return next((other for place in places if (other := self._claims.setdefault(place, host)) != host), "")

    def failed(self, site: str, message: str) -> None:
        """Record in the audit trail that a site failed."""
        if self._recording:
            self._recording.fail(site, self.public(message))

    def say_details(self, text: str) -> None:
        """Show a text with C(-vvv)."""
        display.vvv(without_controls(text))

    # ---- variables --------------------------------------------------------------------------------------------------

    def variables_of(self, host: str | None) -> Mapping[str, Any]:
        """Variables of a host as a task of this play and role sees them; see C(ClusterAction)."""
        name = host or self.inventory_host
        if name not in self._by_host:
            self._by_host[name] = HostVariables(*self._evaluated(name), self._defaults)
        return self._by_host[name]

    def value_of(self, host: str, name: str, default: Any) -> Any:
        """The value of one variable of a host.

        Raises:
            ClusterError: its template cannot be evaluated.
        """
        try:
            return self.variables_of(host).get(name, default)
        except AnsibleError as error:
            raise ClusterError(f"{name}: its template cannot be evaluated: {first_line(error)}") from error

    def _is_meant(self, name: str) -> bool:
        """Whether the conditions of the task, among them those of its role and its blocks, hold for a host, as for the first one."""
        conditions = [one for one in self._task.when or [] if one is not True]
        if not conditions or name == self.inventory_host:
            return True
        _raw, template = self._evaluated(name)
        try:
            return all(boolean(template(trusted(f"{{{{ {one} }}}}"))) for one in conditions)
        except AnsibleError as error:
            raise ClusterError(f"the condition of the task cannot be evaluated: {first_line(error)}") from error

    def auth_of(self, host: str | None = None) -> dict[str, Any]:
        """See C(ClusterAction); evaluated once for each host."""
        name = host or self.inventory_host
        if name not in self._auth:
            self._auth[name] = super().auth_of(host)
            self.api_timeout(host)  # evaluated with it
        return self._auth[name]

    def _evaluated(self, name: str) -> tuple[dict[str, Any], Any]:
        """Raw variables of a host, and what templates a value with them."""
        raw = self.task_vars
        if name != self.inventory_host:
            manager = self._task.get_variable_manager()
            host = manager._inventory.get_host(name)
            if host is None:
                raise ClusterError(f"the inventory has no host '{name}'.")
            raw = manager.get_vars(play=self._task.get_play(), host=host, task=self._task)
            raw |= {magic: self.task_vars[magic] for magic in _PLAY if magic in self.task_vars}
        raw = {**role_defaults(ROLE).values, **raw}
        return raw, self._templar.copy_with_new_env(available_variables=raw).template

    def site(self, name: str) -> Site:
        """A site, from the variables of its host.

        Raises:
            ClusterError: variables cannot be evaluated, or do not comply with the role's argument specification.
        """
        try:
            variables = self.variables_of(name)
            roles = (ROLE,) if variables["supernode_superlink"] else (ROLE, *BESIDE)  # the others are about a hub
            if wrong := variable_faults(variables.__getitem__, variables, roles, self._good):
                raise ClusterError(with_origins("; ".join(wrong) + ".", self._evaluated(name)[0]))
            access = access_of(variables)
        except AnsibleError as error:
            raise ClusterError(f"a template cannot be evaluated: {first_line(error)}") from error
        given = {option: variables[option] for option in role_options(ROLE) if option in variables}
        seconds = int(float(given["supernode_wait_timeout"] or 300))  # its bounds are checked with the other values
        return site_of(name, given, access, seconds=seconds)

    def reach(self, sites: Mapping[str, Site]) -> dict[str, SiteBackend]:
        """The backend of each site."""
        return {name: DELIVERIES[site.access.delivery].reach(self, site) for name, site in sites.items()}
