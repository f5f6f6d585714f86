# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the action plugins that talk to a cluster. They always run on the controller.

C(strategy/linear) loads the class of an action plugin in the parent process, so what is imported at the top of these
files is paid once and inherited by the fork of every host.
"""

from __future__ import annotations

import gc
import io
import re
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, TypeVar

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator, ValidationResult
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..apply.results import ApplyFailed
from ..base.errors import ClusterError
from ..base.foreign_data import without_controls
from ..base.formats import named_hosts
from ..base.object_names import SiteAccess
from ..base.plain_data import map_texts, read_vaulted, to_json_data, without_vaulted
from ..checks import inventory
from ..kube import exec_plugin
from ..kube.auth import AUTH_ARGS, Access, resolve, stands_alone
from ..kube.client import Cluster
from ..sites.registry import DELIVERIES, access_of
from ..state import audit_notes
from ..state.hub_lease import Lease
from . import check_notes, fleet_lease
from .audit_record import Recording, Unrecorded
from .module_options import module_options
from .role_variables import Defaults, HostVariables
from .run_facts import run_facts

# Ansible does not flush what it displays. In a file or a pipe, what an action says while it waits would arrive in blocks of
# 8 KiB, hours later. The parent process writes all lines, and it imports this.
if isinstance(sys.stdout, io.TextIOWrapper):
    sys.stdout.reconfigure(line_buffering=True)

display = Display()
exec_plugin.show = display.vvv

_Words = TypeVar("_Words", str, dict[str, Any])

_API_TIMEOUT = 30  # seconds for one answer of an API server
_API_TIMEOUT_MAX = 3600
_RECENT = 30  # seconds for which credentials of a plugin serve another connection, since the lease has a connection of its own
_ATTEMPTS = 3  # for which a task without a wait of its own has time
_EACH_ALONE = ("free", "host_pinned")
_NO_DEFAULTS = Defaults({})
_ACTIONS = f"{__name__.partition('.plugin_utils.')[0]}.action."
_SITES = 16  # times as much as a site may list, see C(Cluster.max_list_bytes)
#: Options with the place of the SuperLink -> what of it they have.
_PLACE = {"namespace": inventory.NAMESPACE, "hub_namespace": inventory.NAMESPACE, "federation": inventory.FEDERATION}


def first_line(error: AnsibleError) -> str:
    """The message of an error of Ansible, without the excerpt of a file that some releases append."""
    return str(error).strip().partition("\n")[0]


def option_faults(outcome: ValidationResult) -> list[str]:
    """Messages of Ansible's validator. That on unknown options has their names, and not what is wrong with them."""
    messages = [(str(error.msg), isinstance(error, UnsupportedError)) for error in outcome.errors]
    return [text.replace(". Supported", " is not supported. Supported", 1) if unknown else text for text, unknown in messages]


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    """A result without the control characters of others in what Ansible shows as it is."""
    return {name: map_texts(value, without_controls) if name in ("msg", "warnings") else value for name, value in result.items()}


class ClusterAction(ActionBase):
    """An action on one or more clusters.

    Subclasses give C(execute), and C(SPEC) for required_if and the like. C(ARGS) are the options that the documentation of their module has, without
    those of C(AUTH). An error that names a cluster becomes a failed result whose message starts with the inventory host.

    The objects of a result or of a failed apply that changed are recorded for the audit trail; other changes of a subclass are
    recorded with C(note). A change without a note is recorded with the message of the result. See C(audit_record.py).
    """

    #: Options for the access to the cluster of the host.
    AUTH: dict[str, dict[str, Any]] = AUTH_ARGS
    ARGS: dict[str, dict[str, Any]] = {}
    SPEC: dict[str, Any] = {}
    #: Whether it works under the lease of the fleet, where its play or run needs that.
    NEEDS_LEASE = True
    #: Whether a task that has the lease fails if the audit trail cannot be written. Otherwise it warns: data scientists may not write it.
    MUST_RECORD = True
    #: Whether a change of which nothing was noted is recorded with the message of the result.
    NOTES_MESSAGE = True
    #: Whether a task that names no hub means that of the inventory; otherwise it means its own host.
    HUB_BY_GROUP = False
    _requires_connection = False
    _supports_async = False

    #: Whether files for a GitOps controller are asked for, in check mode.
    rendering: bool = False
    #: The changes of the task, once there are some.
    _recording: Recording | None = None
    #: Variables of hosts that were read, besides those of the task.
    _by_host: dict[str, HostVariables] = {}
    #: Whether it is a step of another action.
    is_step: bool = False
    #: The lease of the fleet, while the task holds it.
    lease: Lease | None = None
    #: The last connection: its auth options, when it was made (monotonic, in seconds), and what they lead to.
    _last: tuple[dict[str, Any], float, Access] | None = None
    #: Validated options of the task, without the auth options.
    params: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        """Take the options of the module. What an action has loaded by now stays until the end.

        Otherwise the garbage collector of every fork walks through all of it: 5 ms of CPU per host and task, a tenth of a pass that changes nothing.
        """
        super().__init_subclass__(**options)
        if "ARGS" not in vars(cls) and cls.__module__.startswith(_ACTIONS):
            cls.ARGS = module_options(cls.__module__.removeprefix(_ACTIONS))
        gc.freeze()

    @abstractmethod
    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do the work; return the result. Raise C(ClusterError) for anything that people should read."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called by Ansible."""
        self.task_vars = task_vars or {}
        result = super().run(tmp, self.task_vars)
        self.inventory_host = self._site = str(self.task_vars.get("inventory_hostname", "localhost"))
        self._noted = False
        try:
            self._refuse_other_strategies()
            self.params = self._validated()
            self.rendering = self.check and bool(self.variable(check_notes.RENDERS, False))
            with fleet_lease.holding(self) if fleet_lease.is_needed(self) else nullcontext() as self.lease:
                self._site = self.inventory_host
                with self._recorded(result):
                    result.update(_shown(self.execute(self.params, self.task_vars)))
            if self.lease and self.may_end_play(result):
                fleet_lease.give_back(self)
        except ClusterError as error:
            self._fail(result, error)
        return self.public(result) if result.get("failed") else result

    def _fail(self, result: dict[str, Any], error: ClusterError) -> None:
        result.update(failed=True, msg="; ".join(filter(None, (result.get("msg"), self.named(error)))))

    @contextmanager
    def _recorded(self, result: dict[str, Any]) -> Iterator[None]:
        """Note what the result, or the error of a block, says of changes, and record all notes of the task, also if it is interrupted."""
        try:
            objects: Iterable[Mapping[str, Any]] = ()
            try:
                yield
                objects = result.get("objects") or ()
            except ClusterError as error:
                self._fail(result, error)
                if isinstance(error, ApplyFailed):
                    objects = error.result.objects
            self.note(objects=audit_notes.of_objects(objects))
            if result.get("changed") and self.NOTES_MESSAGE and not self._noted:
                self.note(words=[f"{self._task.action.rpartition('.')[2]}: {result.get('msg', 'changed')}"])
            self.note(diff=result.get("diff") or ())
        finally:
            if self._recording:
                if result.get("failed"):
                    self._recording.fail(self.inventory_host, self.public(str(result.get("msg", ""))))
                self._record(self._recording, result)

    def _record(self, recording: Recording, result: dict[str, Any]) -> None:
        """Record the notes; what cannot be recorded is in the result of the task."""
        warnings: list[str] = []
        try:
            warnings = recording.end()
        except Unrecorded as error:
            result["unrecorded"] = error.entries
            if self.MUST_RECORD and self.lease is not None:
                self._fail(result, error)
            else:
                warnings = [self.named(error)]
        if warnings:
            result["warnings"] = [*result.get("warnings", ()), *warnings]

    def public(self, words: _Words) -> _Words:
        """What people read of a failure: without values that a vault protects."""
        own = HostVariables(self.task_vars, self._templar.template, _NO_DEFAULTS)
        for value in (value for variables in (own, *self._by_host.values()) for value in variables.raw()):
            with suppress(AnsibleError):  # its password is missing
                read_vaulted(value)
        return without_vaulted(words)

    def may_end_play(self, result: Mapping[str, Any]) -> bool:
        """Whether this may be the last task of the playbook, since every host of its play fails."""
        alone = self._task.run_once or len(self.task_vars.get("ansible_play_batch") or ()) <= 1
        return bool(result.get("failed") and alone and not self.is_step)

    def make_lease_namespace(self, hub: Cluster) -> bool:
        """Apply the namespace of the hub, without which there is no lease; whether this action does that."""
        return False

    def _refuse_other_strategies(self) -> None:
        """Other strategies than linear run a task that is meant once for each host, all at the same time."""
        strategy = str(self._task.get_play().strategy) if self._task.run_once else ""
        if strategy.rpartition(".")[2].removeprefix("mitogen_") in _EACH_ALONE:
            raise ClusterError(
                f"the strategy {strategy} runs this task for each host, but it must run once for all "
                "hosts: set strategy: ansible.builtin.linear for the play."
            )

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        """Record a change for the audit trail, right after it. Public facts only.

        C(site): inventory name; by default the host whose cluster was connected last. C(facts): kind -> list, for example
        C(keys=[{"change": "registered", "fingerprint": "SHA256:…"}]); the guide on the audit trail names the kinds. C(diff) is for a plan alone
        (M(federated.flower.plan)), which check mode finds.
        """
        noted = {kind: listed for kind, found in facts.items() if (kind != "diff" or self.check) and (listed := list(found))}
        if noted:
            self._noted = True
            if not self.check:
                self.begin_notes().add(site or self._site, noted)
            elif self.show_diff:
                check_notes.add_change({"site": site or self._site, "facts": noted})

    def begin_notes(self) -> Recording:
        """Get ready to note changes; before threads do, since this evaluates templates."""
        if self._recording is None:
            hub = self.hub_host()
            namespace, federation = (self.of_hub(option, hub) for option in ("namespace", "federation"))
            connect = partial(self._cluster_of, hub, 0)
            self._recording = Recording(run_facts(self.task_vars), hub, namespace, federation, connect, self.say)
        return self._recording

    def render(self, host: str, objects: Iterable[Mapping[str, Any]], site: str = "") -> None:
        """Keep what would be applied in a host's cluster for files for a GitOps controller. Nothing else is to be done with it.

        C(site): the site for which it is there, if that is another cluster.
        """
        check_notes.add_objects(host, objects, site)

    def hub_host(self) -> str:
        """Inventory name of the hub; empty when the inventory has none."""
        hubs = (self.task_vars.get("groups") or {}).get(self.variable("flower_hub_group", "flower_hub")) or [""]
        return str(hubs[0])

    def of_hub(self, option: str, hub: str = "") -> str:
        """Where the SuperLink is, by the hub's own variables, which may be set for the hub alone; whichever host the task runs for.

        Args:
            option: C(namespace) or C(hub_namespace), which are the same, or C(federation).
            hub: its inventory name; empty for the host of this task.

        Raises:
            ClusterError: the inventory has no such host, or a template cannot be evaluated.
        """
        given = ClusterAction.variables_of(self, hub or None)  # of another host without the defaults of a role
        return inventory.hub_place(lambda name: self._variable_of(given, name), _PLACE[option])

    def variable(self, name: str, default: Any) -> Any:
        """A variable of this host, templated."""
        value = self.task_vars.get(name)
        return default if value is None else self._templated(name, value)

    def _templated(self, name: str, value: Any) -> Any:
        """The value of a variable. Raises C(ClusterError), naming it, when its template cannot be evaluated."""
        try:
            return to_json_data(self._templar.template(value))
        except AnsibleError as error:
            raise ClusterError(f"{name}: its template cannot be evaluated: {first_line(error)}") from error

    def templater(self, variables: Mapping[str, Any]) -> Callable[[Any], Any]:
        """What templates a value with some variables, which are not templated."""
        template: Callable[[Any], Any] = self._templar.copy_with_new_env(available_variables=variables).template
        return template

    @property
    def check(self) -> bool:
        """Check mode."""
        return bool(self._task.check_mode)

    @property
    def show_diff(self) -> bool:
        """Whether C(--diff) is set."""
        return bool(self._task.diff)

    def named(self, error: ClusterError) -> str:
        """The error's message, beginning with the inventory host."""
        return named_hosts(self.inventory_host, error.message)

    def say(self, text: str) -> None:
        """Show what is waited for."""
        display.display(without_controls(text))

    def connect(self, host: str | None = None, *, timeout: float = 0) -> Cluster:
        """The cluster of this inventory host, or of another one.

        C(timeout): seconds for a request that is not worth more attempts; C(flower_api_timeout) wins. Without it, attempts fill the wait of the task.
        """
        self._site = host or self.inventory_host  # other threads connect as well
        return self._cluster_of(host, timeout)

    def _cluster_of(self, host: str | None, timeout: float) -> Cluster:
        """A connection after which notes are still about the host that was connected before."""
        name = host or self.inventory_host
        seconds = self.api_timeout(host) or timeout or _API_TIMEOUT
        retry_seconds = 0 if timeout else max(_ATTEMPTS * seconds, self.params.get("wait_timeout") or 0)
        auth, last = self.auth_of(host), self._last
        if last is None or last[0] != auth or time.monotonic() - last[1] > _RECENT:
            self._last = last = auth, time.monotonic(), resolve(auth)
        cluster = Cluster(last[2], auth, timeout=seconds, retry_seconds=retry_seconds)
        if name == self.hub_host():
            cluster.max_list_bytes *= _SITES  # it lists what it has of all sites
        return cluster

    def api_timeout(self, host: str | None = None) -> float:
        """Seconds for one answer of the API server of a host, by its variable; 0 where it has none.

        Raises:
            ClusterError: it is not a number of seconds.
        """
        given = self._variable_of(self.variables_of(host), "flower_api_timeout")
        if given in (None, ""):
            return 0
        seconds = int(given) if re.fullmatch("[0-9]{1,9}", str(given).strip()) else 0
        if not 1 <= seconds <= _API_TIMEOUT_MAX:
            raise ClusterError(f"flower_api_timeout: {given!r} is not a number of seconds from 1 to {_API_TIMEOUT_MAX}.")
        return seconds

    def auth_of(self, host: str | None = None) -> dict[str, Any]:
        """Auth options for the cluster of an inventory host (default: this one).

        For this host the options of the task win over the variables C(flower_auth) (a dict of the same options),
        C(flower_kubeconfig) and C(flower_context); for another host only its variables count. What is still missing
        comes from K8S_AUTH_* in the environment (see C(kube/auth.py)). A task that names a kubeconfig or a host itself
        uses none of the variables: parts of two clusters' addresses must not be mixed.

        A host whose objects are delivered through Open Cluster Management's hub has no own access: what all hosts share,
        or the environment has, refers to another cluster. Raises C(ClusterError) unless the host sets its own.
        """
        other = host is not None and host != self.inventory_host
        given = {} if other else dict(self._auth_params)
        if given.get("kubeconfig") or given.get("host"):
            return given
        variables = self.variables_of(host)
        wanted, *alone = (self._variable_of(variables, name) for name in ("flower_auth", "flower_kubeconfig", "flower_context"))
        if not isinstance(wanted, (dict, type(None))):
            raise ClusterError("flower_auth is not a mapping of options (kubeconfig, context, host, api_key …); its value is not shown.")
        auth = self._checked(AUTH_ARGS, {}, wanted, "flower_auth: ") if wanted is not None else {}
        auth |= {option: value for option, value in zip(("kubeconfig", "context"), alone) if value is not None}
        if not isinstance(auth.get("context") or "", str):
            raise ClusterError("flower_context is not text: quote it if it is a number.")
        auth = {name: value for name, value in auth.items() if value not in (None, "", [], {})} | given
        if "host" in auth and self._variable_of(variables, "flower_kubeconfig") and not auth.get("context") and not stands_alone(auth):
            raise ClusterError(
                "flower_auth has a host and no credentials, and those of the current context of flower_kubeconfig may be of another cluster: they are "
                "not sent there. Check that the variable of the token (api_key) is not empty. To use that kubeconfig, set flower_context."
            )
        delivery = self.access_of(host).delivery
        entry = DELIVERIES[delivery]
        if not entry.own_access and not any(auth.get(name) for name in ("context", "host")):
            raise ClusterError(
                f"{host or self.inventory_host}: its objects are delivered through {entry.why} (flower_delivery: {delivery}), "
                "and the connection to its own API server is not configured: set flower_context, or flower_auth with a host."
            )
        return auth

    def variables_of(self, host: str | None) -> Mapping[str, Any]:
        """Variables of an inventory host (default: this one), templated when they are read.

        Raises C(ClusterError) when there is no such host.
        """
        if host is None or host == self.inventory_host:
            return HostVariables(self.task_vars, self._templar.template, _NO_DEFAULTS)
        try:
            return self.task_vars["hostvars"][host]
        except KeyError:
            raise ClusterError(f"the inventory has no host '{host}'.") from None

    def access_of(self, host: str | None = None) -> SiteAccess:
        """How a host is reached as a site."""
        return access_of(self.variables_of(host))

    @staticmethod
    def _variable_of(variables: Mapping[str, Any], name: str) -> Any:
        """A variable of a host. Raises C(ClusterError), naming it, when its template cannot be evaluated."""
        try:
            return to_json_data(variables.get(name))
        except AnsibleError as error:
            raise ClusterError(f"{name}: its template cannot be evaluated: {first_line(error)}") from error

    def arguments(self) -> dict[str, Any]:
        """The arguments of the task, not validated."""
        given: dict[str, Any] = to_json_data(dict(self._task.args))
        return given

    def _validated(self) -> dict[str, Any]:
        validated = self._checked(self.AUTH | self.ARGS, self.SPEC, self.arguments(), "")
        self._auth_params = {name: validated[name] for name in self.AUTH if validated.get(name) is not None}
        params = {name: value for name, value in validated.items() if name in self.ARGS}
        unset = [name for name in _PLACE if name in params and params[name] is None]
        hub = params.get("hub") or (self.hub_host() if self.HUB_BY_GROUP else "")
        return params | {name: self.of_hub(name, hub) for name in unset}

    @staticmethod
    def _checked(spec: dict[str, Any], extra: dict[str, Any], values: dict[str, Any], prefix: str) -> dict[str, Any]:
        # Ansible would read "a=1" as a mapping, and of -e x="a=1 b=2" it passes on the first pair only.
        for name, value in values.items():
            if isinstance(value, str) and spec.get(name, {}).get("type") == "dict" and value.strip() and not value.lstrip().startswith("{"):
                raise ClusterError(f"""{prefix}{name} is a text and not a mapping. Give it in JSON, such as -e '{{"flower_run_config": {{"rounds": 5}}}}'.""")
        outcome = ArgumentSpecValidator(spec, **extra).validate(values)
        if found := option_faults(outcome):
            raise ClusterError(prefix + found[0])
        return outcome.validated_parameters
