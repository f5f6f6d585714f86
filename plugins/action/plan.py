# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.plan): make a plan of the fleet, compare one with the fleet, and report what was applied of it."""

from __future__ import annotations

import datetime
import json
import os
import socket
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible import constants, context

from ansible_collections.federated.flower.plugins.plugin_utils.actions import planning
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.run_facts import run_facts
from ansible_collections.federated.flower.plugins.plugin_utils.audit.journal import abandoned
from ansible_collections.federated.flower.plugins.plugin_utils.audit.trail import Trail
from ansible_collections.federated.flower.plugins.plugin_utils.base.digests import digest
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.people import who_where
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import forgetting
from ansible_collections.federated.flower.plugins.plugin_utils.plan import (
    plan_comparison,
    plan_document,
    planned_object,
)

_ROOT = Path(__file__).resolve().parents[2]
_SHOWN = 20  # differences in a message
_AGAIN = "Nothing was changed. Make a new plan with federated.flower.plan"
_HASH = 64


class ActionModule(ClusterAction):
    """See the module's documentation."""

    AUTH = {}
    ARGS = {
        "state": {"type": "str", "choices": ["made", "opened", "compared", "settled"], "required": True},
        "path": {"type": "path"},
        "sha256": {"type": "str"},
        "hours": {"type": "int", "default": 24},
        "hub": {"type": "str", "required": True},
        "namespace": {"type": "str"},
        "federation": {"type": "str"},
        "forget": {"type": "raw"},
        "former": {"type": "raw"},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do what the state says."""
        self._folder = Path(constants.DEFAULT_LOCAL_TMP)
        work = {"made": self._make, "opened": self._open, "compared": self._compare, "settled": self._settle}
        return work[params["state"]]()

    # ---- making ------------------------------------------------------------------------------------------------------

    def _make(self) -> dict[str, Any]:
        content = self._present()
        hours = self.params["hours"]
        if hours < 1:
            raise ClusterError(f"hours (flower_plan_hours): {hours} is less than 1.")
        now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        origin = {
            "made": now.isoformat(),
            "by": who_where(run_facts(self.task_vars)["who"]),
            "until": (now + datetime.timedelta(hours=hours)).isoformat(),
        }
        text = plan_document.write(content, origin)
        result: dict[str, Any] = {
            "changed": False,
            "sha256": plan_document.sha256(content),
            "text": plan_document.text(content, origin),
            "nothing_to_do": plan_document.is_empty(content),
            "msg": f"plan {plan_document.sha256(content)}: {len(planned_object.objects(content))} objects",
        }
        if self.params["path"]:
            # A file whose plan is the same stays, so that a second run changes nothing until it is too old.
            result["changed"] = not self._is_same(content, now)
            if result["changed"] and not self.check:
                self._write(text)
            result["msg"] += f" in {self.params['path']}"
            self._noted = True  # a file on the control node: no change for the audit trail
        return result

    def _is_same(self, content: dict[str, Any], now: datetime.datetime) -> bool:
        path = Path(self.params["path"])
        if not path.exists():
            return False
        found = self._text(path)
        if not found.startswith(plan_document.HEAD):
            raise ClusterError(f"{path} is not a plan, and is not overwritten. Move it, or choose another file (flower_plan).")
        try:
            was, origin = plan_document.read(found, str(path))
        except ClusterError:
            return False
        half = datetime.timedelta(hours=self.params["hours"]) / 2
        return was == content and not plan_document.late(origin, now + half)

    def _write(self, text: str) -> None:
        path = Path(self.params["path"])
        new = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            new.replace(path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise ClusterError(f"{path} cannot be written: {error.strerror}. Choose another file (flower_plan).") from error

    def _present(self) -> dict[str, Any]:
        """The plan of the present, from what the actions of this run kept."""
        header = self._header()
        alive = {str(host) for host in self.task_vars.get("ansible_play_hosts") or ()}
        return plan_document.compose(header, planning.found(self._folder), [one for one in header["hosts"] if one not in alive])

    def _header(self) -> dict[str, Any]:
        hosts = sorted(map(str, self.task_vars.get("ansible_play_hosts_all") or ()))
        told = {}
        for name, option in (("tags", "tags"), ("skip_tags", "skip_tags")):
            found = context.CLIARGS.get(option) or ()
            listed = [found] if isinstance(found, str) else list(found)
            told[name] = ",".join(sorted({part for one in listed for part in str(one).split(",")} - {"all", ""}))
        return {
            "collection": _version(),
            "federation": self.params["federation"],
            "namespace": self.params["namespace"],
            "hub": self.params["hub"] if self.params["hub"] in hosts else "",
            "hosts": hosts,
            **told,
        }

    # ---- applying ----------------------------------------------------------------------------------------------------

    def _given(self) -> dict[str, Any] | None:
        """The plan that is to be applied; None where only its SHA-256 is given."""
        wanted, path = (self.params["sha256"] or "").strip().lower(), self.params["path"]
        if wanted and (len(wanted) != _HASH or set(wanted) - set("0123456789abcdef")):
            raise ClusterError(f"flower_plan_hash: '{wanted}' is not a SHA-256, which has {_HASH} hexadecimal digits. {_AGAIN}.")
        if not path:
            return None
        content, origin = plan_document.read(self._text(Path(path)), path)
        late = plan_document.late(origin, datetime.datetime.now(datetime.timezone.utc))
        if late:
            raise ClusterError(f"{path} is too old: {late}. {_AGAIN}.")
        if wanted and wanted != plan_document.sha256(content):
            raise ClusterError(f"{path} is not the plan of flower_plan_hash: its SHA-256 is {plan_document.sha256(content)}. {_AGAIN}.")
        return content

    def _open(self) -> dict[str, Any]:
        """Refuse a plan that cannot be the right one, before a cluster is asked."""
        self._refuse_forgetting()
        content = self._given()
        if content is None:
            return {"changed": False, "msg": f"the plan {self.params['sha256']} is compared with a new one"}
        faults = plan_document.header_faults(content, {"format": plan_document.FORMAT, **self._header()})
        if faults:
            raise ClusterError(f"{self.params['path']} was made for another run: {'; '.join(faults)}. {_AGAIN}.")
        return {"changed": False, "msg": f"plan {plan_document.sha256(content)} of {self.params['path']}"}

    def _refuse_forgetting(self) -> None:
        try:
            chosen = forgetting.names(self.params["forget"])
            former = forgetting.former_clusters(self.params["former"])
        except ValueError as error:
            raise ClusterError(f"{error}.") from error
        if chosen:
            raise ClusterError(
                f"{forgetting.VARIABLE} cannot be applied with a plan: sites are forgotten for good. Run federated.flower.site without a plan for it."
            )
        if former:
            raise ClusterError(f"{forgetting.FORMER} cannot be applied with a plan. Run federated.flower.site without a plan for it.")

    def _compare(self) -> dict[str, Any]:
        """Compare the plan with what would be done now, and put it in force."""
        planned, present = self._given(), self._present()
        wanted = plan_document.sha256(planned) if planned else self.params["sha256"].strip().lower()
        result: dict[str, Any] = {"changed": False, "sha256": wanted, "applied_before": False}
        count = len(planned_object.objects(present))
        if plan_document.sha256(present) != wanted:
            result["applied_before"] = self._was_started(wanted)
            if not (result["applied_before"] and (plan_document.is_empty(present) or (planned and plan_comparison.is_rest(planned, present)))):
                raise ClusterError(self._refusal(planned, present, wanted, started=result["applied_before"]))
        if not self.check:
            planning.put_in_force(self._folder, present)
            if not plan_document.is_empty(present) and not result["applied_before"]:
                self.note(self.params["hub"], words=[_mark(wanted)])
        self._noted = True
        if plan_document.is_empty(present):
            words = "nothing is left to do: it was applied before" if result["applied_before"] else "there is nothing to do"
        elif result["applied_before"]:
            words = f"the rest of it, {count} objects, is applied: an earlier run did not finish it"
        else:
            words = f"the fleet is as it was planned for, {count} objects are written"
        return result | {"msg": f"plan {wanted}: {words}"}

    def _refusal(self, planned: dict[str, Any] | None, present: dict[str, Any], wanted: str, *, started: bool) -> str:
        if planned is None:
            return (
                f"the plan {wanted} is not what would be done now, which has the SHA-256 {plan_document.sha256(present)}: the fleet or the "
                f"inventory has changed since{', or an earlier run has applied a part of it' if started else ''}. {_AGAIN}."
            )
        found = plan_comparison.differences(planned, present)
        more = [f"… and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        return "\n".join([f"the fleet or the inventory has changed since the plan {wanted} was made:", *found[:_SHOWN], *more, f"{_AGAIN}."])

    def _was_started(self, wanted: str) -> bool:
        """Whether the audit trail has that a run applied a plan, or a part of it; or a run of this machine that was killed."""
        for journal in abandoned(self._folder, socket.gethostname(), self.place()):
            if _mark(wanted) in json.dumps(journal.read()):
                return True
        with self.connect(self.params["hub"]) as cluster:
            if cluster.get("v1", "Namespace", self.params["namespace"]) is None:
                return False
            lines, _head = Trail(cluster, self.params["namespace"], self.params["federation"]).read()
        return any(_mark(wanted) in json.dumps(line, default=str) for line in lines)

    def _settle(self) -> dict[str, Any]:
        """Report what was applied of the plan that is in force."""
        content = planning.in_force(self._folder)
        if content is None:
            return {"changed": False, "msg": "no plan is in force"}
        planned, applied = plan_comparison.outcome(content, planning.done(self._folder))
        left = [line for line in planned if line not in applied]
        more = [line for line in applied if line not in planned]
        result = {"changed": False, "planned": planned, "applied": applied, "sha256": digest(applied)}
        if left or more:
            told = [*(f"not applied: {line}" for line in left), *(f"not as planned: {line}" for line in more)]
            way = "Run it again with the same plan: it applies the rest, as long as that is as planned"
            return result | {"failed": True, "msg": "\n".join(["the plan was not applied completely:", *told[:_SHOWN], f"{way}."])}
        return result | {"msg": f"{len(applied)} objects were written, each as planned"}

    @staticmethod
    def _text(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ClusterError(f"the plan {path} cannot be read: {error}. Correct flower_plan.") from error


def _mark(sha256: str) -> str:
    """What the audit trail has of a plan that is applied."""
    return f"plan {sha256}"


@cache
def _version() -> str:
    """The release of the collection: of an installed one, or of a checkout."""
    try:
        return str(json.loads((_ROOT / "MANIFEST.json").read_text(encoding="utf-8"))["collection_info"]["version"])
    except FileNotFoundError:
        found = yaml.safe_load((_ROOT / "galaxy.yml").read_text(encoding="utf-8"))
        return str(found["version"])
