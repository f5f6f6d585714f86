# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lease of the fleet, as tasks have it: each one that changes the fleet takes or renews it before, and a thread renews it meanwhile.

Plays of this collection ask for it with the variable C(__lease_needed), playbooks of users with C(take_lease.yml), which registers C(__lease).
The last task returns it (C(return_lease.yml)), and so does a task that fails for the whole play, which may be the last one; a later task takes it
again. Otherwise it ends by itself, as that of a playbook that was killed. Forks that such a playbook left behind keep it until their task ends, and
return it then.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ansible import constants, context
from ansible.errors import AnsibleError
from ansible.utils.display import Display

from ..base.errors import ClusterError
from ..base.foreign_data import without_controls
from ..base.values import boolean
from ..kube.api_errors import Forbidden, Unavailable, Unreachable
from ..kube.client import Cluster
from ..state import lease_object, parent
from ..state.hub_lease import Lease
from . import serving
from .run_facts import run_facts

display = Display()

#: Variables of plays: the lease is needed; it is that of the hub of this group; a hub that does not serve is changed, too; sites are removed.
NEEDED, GROUP, ANY_STATE, REMOVES = "__lease_needed", "__lease_group", "__lease_any_state", "__lease_removes"
#: What the playbook take_lease.yml registers, whose C(taken) says that the tasks that follow need the lease.
REGISTERED = "__lease"
WAIT = 90  # seconds; longer than the lease of a playbook that was killed lasts
_CLAIM_TIMEOUT = 10.0  # seconds for an answer of a hub that may be lost
#: For each hub, a byte (by a hash of its place): whether this run has taken its lease. All forks of a playbook share this memory, which it has
#: before it forks: the strategy plugins load the class of an action in the playbook's own process.
_TAKEN = mmap.mmap(-1, 65536)


class Task(serving.Connecting, Protocol):
    """What is needed of an action (C(cluster_action.ClusterAction))."""

    NEEDS_LEASE: bool
    variable: Callable[[str, Any], Any]
    hub_host: Callable[[], str]
    of_hub: Callable[[str, str], str]
    make_lease_namespace: Callable[[Cluster], bool]
    say: Callable[[str], None]
    note: Callable[..., None]

    @property
    def check(self) -> bool:
        """Check mode."""


def is_needed(action: Task) -> bool:
    """Whether a task may only work under the lease."""
    if not action.NEEDS_LEASE or action.check or set(action.variable("ansible_run_tags", ["all"])) == {"preflight"}:
        return False
    if not action.hub_host() and action.variable("supernode_superlink", {}):
        return False  # there is no hub that could have a lease
    registered = action.variable(REGISTERED, {})
    return boolean(action.variable(NEEDED, False)) or (isinstance(registered, Mapping) and boolean(registered.get("taken")))


@contextmanager
def holding(action: Task) -> Iterator[Lease | None]:
    """Hold the lease while a task works. The value is None where a lost hub is given up, or there is no namespace for it.

    Raises:
        ClusterError: it cannot be taken, or checks were left out.
        Lost: someone else has had it since this run took it.
        Abandoned: the playbook of this task has ended.
    """
    facts = run_facts(action.task_vars)
    _refuse_left_out()
    parent.require_playbook(facts["pid"], "the playbook of this task")
    claims = boolean(action.variable("flower_claim_sites", False))
    with _connected(action, timeout=_CLAIM_TIMEOUT if claims else 0) as (hub, place, lease):
        try:
            is_there = _take(action, hub, place, lease)
        except (Unreachable, Unavailable) as error:
            if not claims:
                lost = "If the hub is lost: -e flower_claim_sites=true removes sites without it."
                remedy = lost if action.variable(REMOVES, False) else "Run the playbook again when the hub answers."
                raise ClusterError(f"{error.message} The lease of the fleet cannot be taken, so nothing was changed. {remedy}") from error
            display.warning(f"the hub is treated as lost (flower_claim_sites), so its lease is not taken: {error.message}")
            is_there = False
        if not is_there:
            yield None
            return
        try:
            parent.require_playbook(facts["pid"], "the playbook of this task")  # it may have been waited for long
            with lease.kept(partial(parent.has_ended, facts["pid"])):
                yield lease
        finally:
            if parent.has_ended(facts["pid"]):  # nothing else would return it
                with suppress(ClusterError):
                    lease.give_back()


def give_back(action: Task) -> str:
    """Return the lease if this run has taken it; what became of it, in words.

    Raises:
        Lost: someone else holds it.
    """
    if not action.hub_host() or not _TAKEN[_slot(_place(action))]:
        return "this run holds no lease"
    with _connected(action) as (_hub, place, lease):
        try:
            there = lease.give_back()
        except (Unreachable, Unavailable) as error:
            text = f"the lease could not be returned, so it ends by itself within {lease_object.SECONDS + 2} s: {error.message}"
            display.warning(without_controls(text))
            return text
        _TAKEN[_slot(place)] = 0
    return "the lease is returned" if there else "the lease or the hub's namespace was deleted in the meantime"


@contextmanager
def _connected(action: Task, *, timeout: float = 0) -> Iterator[tuple[Cluster, tuple[str, str, str], Lease]]:
    host, namespace, federation = place = _place(action)
    identity = lease_object.identity(run_facts(action.task_vars), Path(constants.DEFAULT_LOCAL_TMP).name)
    with action.connect(host, timeout=timeout) as hub:
        yield hub, place, Lease(hub, namespace, federation, identity)


def _place(action: Task) -> tuple[str, str, str]:
    """Host, namespace and federation of the hub."""
    group = action.variable(GROUP, "")
    hosts = (action.task_vars.get("groups") or {}).get(group) or [action.hub_host()]
    if not hosts[0]:
        raise ClusterError("the inventory has no group flower_hub: set flower_hub_group.")
    return hosts[0], action.of_hub("namespace", hosts[0]), action.of_hub("federation", hosts[0])


def _slot(place: tuple[str, str, str]) -> int:
    return zlib.crc32("/".join(place).encode()) % len(_TAKEN)


def _refuse_left_out() -> None:
    given = context.CLIARGS.get("skip_tags") or ()
    skipped = {tag.strip() for words in ([given] if isinstance(given, str) else given) for tag in words.split(",")}
    for option, found in (("--start-at-task", context.CLIARGS.get("start_at_task")), ("--skip-tags always", "always" in skipped)):
        if found:
            raise ClusterError(
                f"{option} skips checks that precede every change, so the lease of the fleet is not taken, and nothing is changed. Run the whole "
                "playbook: steps that are already complete take little time. --tags and a --limit to sites choose parts of it"
            )


def _take(action: Task, hub: Cluster, place: tuple[str, str, str], lease: Lease) -> bool:
    """Take or renew it; False if there is no namespace for it."""
    host, namespace, _federation = place
    slot = _slot(place)
    had = bool(_TAKEN[slot])
    broken: list[str] = []
    seconds = action.variable("flower_lease_wait", WAIT)
    if not str(seconds).strip().isdecimal():
        raise ClusterError(f"flower_lease_wait: {seconds} is not a number of seconds.")
    take = partial(lease.take, int(seconds), action.say, had=had, breaks=partial(_breaks, action, broken))
    if take() is None and not (action.make_lease_namespace(hub) and take()):
        return False
    if not (had or boolean(action.variable(ANY_STATE, False))):
        try:
            for words in serving.require(action, hub, host, namespace):
                display.warning(without_controls(words))
        except Forbidden:
            pass  # the checks name the missing rights
        except ClusterError:
            lease.give_back()
            raise
    _TAKEN[slot] = 1
    if broken:
        action.note(host, words=[f"took the lease of {broken[0]} by force"])
    return True


def _breaks(action: Task, broken: list[str], live: Mapping[str, Any]) -> bool:
    """Whether people want the lease taken from its holder, whom they have to name.

    Raises:
        ClusterError: they name another one.
    """
    given, holder = action.variable("flower_lease_break", ""), lease_object.describe_holder(live)
    if str(given).strip().lower() in ("", "false", "no"):
        return False
    answer = str(given).strip()
    if boolean(given):
        question = without_controls(
            f"{holder} has been changing the federation since {lease_object.since(live)}. If it is still running, two playbooks will change "
            "the fleet at the same time. "
            f"To take its lease, type the holder's name ({lease_object.name(live)}):"
        )
        try:
            answer = display.prompt_until(question).decode("utf-8", "replace").strip()
        except AnsibleError as error:  # there is no terminal, or it was interrupted
            raise ClusterError(
                f"{holder} holds the lease, and there is no terminal to ask for the holder's name: -e flower_lease_break='{lease_object.name(live)}'"
            ) from error
    if answer not in (holder, lease_object.name(live)):
        raise ClusterError(f"flower_lease_break: '{answer}' does not hold the lease, but {holder}. Nothing was changed.")
    broken.append(holder)
    return True
