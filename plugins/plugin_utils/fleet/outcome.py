# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What becomes of each site of a run, and steps on many of them at once."""

from __future__ import annotations

import copy
import os
import resource
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..apply.results import ApplyFailed
from ..base.errors import ClusterError
from ..base.foreign_data import without_controls
from ..base.formats import named_hosts
from ..sites.site import DATA_FAULTS, Run, StepResult, unexpected
from ..state import parent
from ..state.audit_notes import of_objects

# For everything else than connections to sites: modules, pipes, the hub's connections, credential plugins.
_OTHER_FILES = 200


class RecordedRun(Run, Protocol):
    """A run that records sites that failed."""

    def failed(self, site: str, message: str) -> None:
        """Record in the audit trail that a site failed."""

    def say_details(self, text: str) -> None:
        """Show a text to people who asked for details (C(-vvv))."""


@dataclass
class Outcome:
    """What became of one site. Nothing in it is secret.

    Attributes:
        changed: whether something was changed, or would be.
        failed: whether it failed.
        msg: a sentence; of a failed site it begins with the site's name.
        objects: the result for each object, in the format of C(apply).
        diff: entries for C(--diff).
        warnings: sentences.
        requests: requests to API servers.
        facts: additional results.
    """

    changed: bool = False
    failed: bool = False
    msg: str = ""
    objects: list[dict[str, str]] = field(default_factory=list)
    diff: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    requests: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    def add(self, done: StepResult) -> None:
        """Add the outcome of a step."""
        self.changed |= done.changed
        self.objects += done.objects
        self.diff += done.diff
        self.warnings += [word for word in map(without_controls, done.warnings) if word not in self.warnings]
        self.requests += done.requests

    def as_dict(self) -> dict[str, Any]:
        """For a result: without what is empty."""
        found = {key: value for key, value in vars(self).items() if value and key != "facts"}
        return {"changed": self.changed, **found, "msg": without_controls(self.msg), **self.facts}


class Outcomes:
    """The outcomes of some sites, of which C(workers) are worked on at the same time. C(parent): process of the playbook."""

    def __init__(self, run: RecordedRun, sites: Iterable[str], workers: int) -> None:
        self.run, self.workers = run, workers
        self.parent = os.getppid()
        self.sites = {name: Outcome() for name in sites}
        allow_connections(len(self.sites))

    def __getitem__(self, name: str) -> Outcome:
        return self.sites[name]

    def of(self, names: Iterable[str]) -> Outcomes:
        """The same for some of the sites."""
        part = copy.copy(self)
        part.sites = {name: self.sites[name] for name in names}
        return part

    def good(self) -> list[str]:
        """Names of the sites that have not failed."""
        return [name for name, outcome in self.sites.items() if not outcome.failed]

    def add(self, name: str, done: StepResult) -> None:
        """Add the outcome of a step, and record its changes for the audit trail."""
        self.sites[name].add(done)
        self.run.note(name, objects=of_objects(done.objects), volumes=done.volumes)

    def fail(self, name: str, message: str) -> None:
        """Mark a site as failed. Only its first error counts."""
        outcome = self.sites[name]
        if not outcome.failed:
            outcome.failed = True
            outcome.msg = named_hosts(name, message)
            self.run.failed(name, outcome.msg)

    def require_playbook(self) -> None:
        """Called before each step on a site.

        Raises:
            Abandoned: the playbook has ended.
        """
        parent.require_playbook(self.parent, "the playbook")

    def each(self, step: Callable[[str], Any], names: Iterable[str] | None = None) -> dict[str, Any]:
        """Run a step for every good site, several at the same time; returns what it returned for those that are still good.

        An error ends only the site that it is about.

        Raises:
            Abandoned: the playbook has ended; sites whose step had not begun are left as they are.
        """
        chosen = [name for name in (self.good() if names is None else names) if not self.sites[name].failed]
        found: dict[str, Any] = {}

        def one(name: str) -> None:
            self.require_playbook()
            try:
                found[name] = step(name)
            except ApplyFailed as error:
                self.add(name, StepResult.of(error.result, failed=error.message))  # what was changed before it
                self.fail(name, error.message)
            except ClusterError as error:
                self.fail(name, error.message)
            except DATA_FAULTS as error:
                self.fail(name, f"unexpected error, please report it: {unexpected(error)}")
                self.run.say_details(traceback.format_exc())

        if len(chosen) < 2 or self.workers < 2:
            for name in chosen:
                one(name)
        else:
            with ThreadPoolExecutor(min(self.workers, len(chosen))) as pool:
                list(pool.map(one, chosen))  # raises what a step raised
        return {name: found[name] for name in chosen if name in found and not self.sites[name].failed}

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """For a result."""
        return {name: outcome.as_dict() for name, outcome in self.sites.items()}


def allow_connections(count: int) -> None:
    """Raise the soft limit of open files for so many connections, as far as the hard one allows.

    It ends with the process, which Ansible starts for each task.
    """
    wanted = count + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
