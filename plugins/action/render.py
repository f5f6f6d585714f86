# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.render): files for a GitOps controller."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.federated.flower.plugins.plugin_utils.actions import check_notes
from ansible_collections.federated.flower.plugins.plugin_utils.base import formats
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gitops
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import app_versions

FILE = "flower.yaml"
_SHOWN = ", and everyone who reads the repository sees it. Put it into a Secret, and refer to it with valueFrom.secretKeyRef."
_NAME = re.compile(r"(?!\.\.?$)[A-Za-z0-9_.-]+")


class ActionModule(ActionBase):
    """See the module's documentation."""

    _requires_connection = False
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called by Ansible."""
        result = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec({
            "directory": {"type": "path", "required": True},
            "hosts": {"type": "list", "elements": "str", "required": True},
            "hub": {"type": "str", "required": True},
            "federation": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "ocm_sites": {"type": "list", "elements": "str", "default": []},
        })
        directory = Path(options["directory"])
        hub, behind, whose = options["hub"], options["ocm_sites"], (options["federation"], options["namespace"])
        warnings: list[str] = []
        if hub in options["hosts"]:
            kept = check_notes.sites_of(hub)
            if lost := ", ".join(site for site in behind if site not in kept):
                raise AnsibleActionFail(
                    f"{hub}: its file also has what Open Cluster Management delivers to the sites behind it, and nothing was rendered for {lost}: the file "
                    f"would lose that. No file is written. Include {hub} and all of these sites in --limit, and resolve what is reported for them; or leave "
                    f"{hub} out for now (--limit 'all:!{hub}')."
                )
        elif without := ", ".join(site for site in behind if site in options["hosts"]):
            warnings.append(
                f"{without}: what Open Cluster Management delivers there is in the file of {hub}, which --limit leaves out, so nothing is written for it. "
                f"Include {hub} in --limit, with all sites that it delivers to."
            )
        new: list[tuple[Path, str, str]] = []
        shown: list[str] = []
        skipped: list[str] = []
        for host in options["hosts"]:
            objects, path = check_notes.objects_of(host), directory / host / FILE
            if objects is None:
                skipped.append(host)
                if path.exists():
                    warnings.append(
                        f"{host}: nothing is rendered for its cluster, since its objects are delivered in another way (flower_delivery), and {path} is "
                        "still there: its GitOps controller goes on to apply it. Remove the folder before the site is delivered to in that way."
                    )
                continue
            if not _NAME.fullmatch(host):
                raise AnsibleActionFail(f"{host}: a folder cannot have this name. Rename the host, or leave it out (--limit).")
            shown += [f"{host}: {one}{_SHOWN}" for one in formats.shown_value(objects)]
            before, after = self._read(host, path, *whose), gitops.text(host, *whose, map(app_versions.kept_by_gitops, objects))
            if before != after:
                new.append((path, before, after))
        for path, _before, after in () if self._task.check_mode else new:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(after, encoding="utf-8")
            except OSError as error:
                raise AnsibleActionFail(f"{path} cannot be written: {error.strerror}. Free space, or choose another directory.") from error
        if self._task.diff:
            result["diff"] = [
                {"before_header": str(path), "after_header": str(path), "before": before, "after": after} for path, before, after in new
            ]
        words = f"{len(new)} of {len(options['hosts']) - len(skipped)} files changed in {directory}"
        if empty := [host for host in skipped if host not in behind]:
            words += f"; nothing is applied for {', '.join(empty)}"
        if warnings or shown:
            result["warnings"] = [*warnings, *shown]
        return result | {"changed": bool(new), "files": [str(path) for path, _before, _after in new], "msg": words}

    @staticmethod
    def _read(host: str, path: Path, federation: str, namespace: str) -> str:
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
