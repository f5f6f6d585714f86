# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.plan): what this run found in check mode, as a plan, compared with an approved plan, or as files for a GitOps controller."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ansible_collections.federated.flower.plugins.plugin_utils.actions import check_notes
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base import formats
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gitops
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import app_versions
from ansible_collections.federated.flower.plugins.plugin_utils.pki import library
from ansible_collections.federated.flower.plugins.plugin_utils.state import plan_text

_SHOWN = 20  # differences in a message
_AGAIN = "Nothing was changed. Make a new plan with federated.flower.plan"
WRITTEN, RENDERED = "written", "rendered"
# A rendered file, and what is said of a value that looks like a secret in one.
FILE = "flower.yaml"
_SECRET = ", and everyone with access to the repository can read it. Put it into a Secret, and refer to it with valueFrom.secretKeyRef."
_FOLDER = re.compile(r"(?!\.\.?$)[A-Za-z0-9_.-]+")


class ActionModule(ClusterAction):
    """See the module's documentation."""

    NOTES_MESSAGE = False  # a file on the control node does not change the fleet
    AUTH = {}
    SPEC = {"required_if": [("state", RENDERED, ["directory", "hosts"])]}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do what the state says."""
        if params["state"] == RENDERED:
            return self._render(params)
        library.require()
        alive = set(map(str, task_vars["ansible_play_hosts"]))
        failed = [host for host in map(str, task_vars["ansible_play_hosts_all"]) if host not in alive]
        title = f"the federation {params['federation']} in namespace {params['namespace']} of {params['hub']}"
        present = plan_text.write(title, check_notes.changes(), failed)
        return self._write_plan(present) if params["state"] == WRITTEN else self._compare(present)

    def _write_plan(self, text: str) -> dict[str, Any]:
        changes, path = plan_text.paragraphs(text), self.params["path"]
        result: dict[str, Any] = {
            "changed": False,
            "sha256": plan_text.sha256(text),
            "text": plan_text.heads(changes) or ["nothing to do"],
            "nothing_to_do": not changes,
            "msg": f"plan {plan_text.sha256(text)}: {len(changes)} changes",
        }
        if path:
            found = self._read(Path(path)) if Path(path).exists() else ""
            if found and not found.startswith(plan_text.HEAD):
                raise ClusterError(f"{path} is not a plan, and is not overwritten. Move it, or choose another file (flower_plan).")
            result["changed"] = found != text
            if result["changed"] and not self.check:
                self._write(Path(path), text)
            result["msg"] += f" in {path}"
        return result

    @staticmethod
    def _write(path: Path, text: str) -> None:
        new = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            new.replace(path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise ClusterError(f"{path} cannot be written: {error.strerror}. Choose another file (flower_plan).") from error

    def _compare(self, present: str) -> dict[str, Any]:
        """Refuse to go on unless all that would be changed now was approved."""
        wanted, path = (self.params["sha256"] or "").strip().lower(), self.params["path"]
        if wanted and not re.fullmatch("[0-9a-f]{64}", wanted):
            raise ClusterError(f"flower_plan_hash: '{wanted}' is not a SHA-256, which has 64 hexadecimal digits. {_AGAIN}.")
        changes = plan_text.paragraphs(present)
        if path:
            planned = self._read(Path(path))
            if not planned.startswith(plan_text.HEAD):
                raise ClusterError(f"{path} is not a plan: federated.flower.plan writes them. Correct flower_plan.")
            if wanted and wanted != plan_text.sha256(planned):
                raise ClusterError(f"{path} is not the plan of flower_plan_hash: its SHA-256 is {plan_text.sha256(planned)}. {_AGAIN}.")
            wanted = plan_text.sha256(planned)
            if found := plan_text.unplanned(planned, present):
                more = [f"… and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
                raise ClusterError("\n".join([f"the plan {wanted} does not contain all changes that are due now:", *found[:_SHOWN], *more, f"{_AGAIN}."]))
        elif changes and plan_text.sha256(present) != wanted:
            raise ClusterError(
                f"the plan {wanted} does not match the changes that are due now, whose plan has the SHA-256 {plan_text.sha256(present)}: the fleet or the "
                f"inventory has changed since, or a part of the plan was applied. {_AGAIN}."
            )
        if changes and not self.check:
            self.note(self.params["hub"], words=[f"plan {wanted}"])
        words = f"{len(changes)} changes are due, all of them planned" if changes else "no changes are left to apply"
        return {"changed": False, "sha256": wanted, "msg": f"plan {wanted}: {words}"}

    @staticmethod
    def _read(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ClusterError(f"the plan {path} cannot be read: {error}. Correct flower_plan.") from error

    def _render(self, params: dict[str, Any]) -> dict[str, Any]:
        """Write a file for each host, or none if one cannot be written whole. Errors name the host of the file, not that of the task."""
        directory = Path(params["directory"])
        hub, behind, whose = params["hub"], params["ocm_sites"], (params["federation"], params["namespace"])
        warnings: list[str] = []
        if hub in params["hosts"]:
            kept = check_notes.sites_of(hub)
            if lost := ", ".join(site for site in behind if site not in kept):
                raise AnsibleActionFail(
                    f"{hub}: its file also has what Open Cluster Management delivers to the sites behind it, and nothing was rendered for {lost}: the file "
                    f"would lose that. No file is written. Include {hub} and all of these sites in --limit, and resolve what is reported for them; or leave "
                    f"{hub} out for now (--limit 'all:!{hub}')."
                )
        elif without := ", ".join(site for site in behind if site in params["hosts"]):
            warnings.append(
                f"{without}: what Open Cluster Management delivers there is in the file of {hub}, which --limit excludes, so nothing is written for it. "
                f"Include {hub} in --limit, with all sites that it delivers to."
            )
        new: list[tuple[Path, str, str]] = []
        shown: list[str] = []
        skipped: list[str] = []
        for host in params["hosts"]:
            objects, path = check_notes.objects_of(host), directory / host / FILE
            if objects is None:
                skipped.append(host)
                if path.exists():
                    warnings.append(
                        f"{host}: nothing is rendered for its cluster, since its objects are delivered in another way (flower_delivery), and {path} is "
                        "still there: its GitOps controller continues to apply it. Remove the folder before the site is delivered to in that way."
                    )
                continue
            if not _FOLDER.fullmatch(host):
                raise AnsibleActionFail(f"{host}: a folder cannot have this name. Rename the host, or exclude it (--limit).")
            shown += [f"{host}: {one}{_SECRET}" for one in formats.shown_value(objects)]
            before, after = self._rendered_before(host, path, *whose), gitops.text(host, *whose, map(app_versions.kept_by_gitops, objects))
            if before != after:
                new.append((path, before, after))
        for path, _before, after in () if self.check else new:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(after, encoding="utf-8")
            except OSError as error:
                raise AnsibleActionFail(f"{path} cannot be written: {error.strerror}. Free space, or choose another directory.") from error
        diff = [{"before_header": str(path), "after_header": str(path), "before": before, "after": after} for path, before, after in new]
        words = f"{len(new)} of {len(params['hosts']) - len(skipped)} files changed in {directory}"
        if empty := [host for host in skipped if host not in behind]:
            words += f"; nothing is applied for {', '.join(empty)}"
        return {
            "changed": bool(new),
            "files": [str(path) for path, _before, _after in new],
            "diff": diff if self.show_diff else [],
            "warnings": [*warnings, *shown],
            "msg": words,
        }

    @staticmethod
    def _rendered_before(host: str, path: Path, federation: str, namespace: str) -> str:
        try:
            found = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise AnsibleActionFail(f"{host}: {path} cannot be read: {error}") from error
        fault = gitops.fault(found, host, federation, namespace)
        if fault:
            raise AnsibleActionFail(f"{host}: {path} {fault}")
        return found
