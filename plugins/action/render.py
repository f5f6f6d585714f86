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

from ansible_collections.federated.flower.plugins.plugin_utils.actions import rendering
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
        if hub in options["hosts"]:
            lost = rendering.incomplete(hub, behind, rendering.served(hub))
            if lost:
                raise AnsibleActionFail(lost)
        new: list[tuple[Path, str, str]] = []
        shown: list[str] = []
        skipped: list[str] = []
        for host in options["hosts"]:
            objects = rendering.kept(host)
            if objects is None:
                skipped.append(host)
                continue
            if not _NAME.fullmatch(host):
                raise AnsibleActionFail(f"{host}: a folder cannot have this name. Rename the host, or leave it out (--limit).")
            shown += [f"{host}: {one}{_SHOWN}" for one in formats.shown_value(objects)]
            path = directory / host / FILE
            before, after = self._read(host, path, *whose), gitops.text(host, *whose, map(app_versions.lasting, objects))
            if before != after:
                new.append((path, before, after))
        if not self._task.check_mode:
            self._write(new)
        if self._task.diff:
            result["diff"] = [
                {"before_header": str(path), "after_header": str(path), "before": before, "after": after} for path, before, after in new
            ]
        words = f"{len(new)} of {len(options['hosts']) - len(skipped)} files changed in {directory}"
        without = [host for host in skipped if host not in behind]
        if without:
            words += f"; nothing is applied for {', '.join(without)}"
        warnings = [rendering.elsewhere(hub, options["hosts"], behind), *(self._left(host, directory / host / FILE) for host in skipped), *shown]
        if any(warnings):
            result["warnings"] = list(filter(None, warnings))
        return result | {"changed": bool(new), "files": [str(path) for path, _before, _after in new], "msg": words}

    @staticmethod
    def _left(host: str, path: Path) -> str:
        """What has to be done with a file for whose host nothing is rendered any more; empty where there is none."""
        if not path.exists():
            return ""
        return (
            f"{host}: nothing is rendered for its cluster, since its objects are delivered in another way (flower_delivery), and {path} is still there: its "
            "GitOps controller goes on to apply it. Remove the folder before the site is delivered to in that way."
        )

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

    @staticmethod
    def _write(files: list[tuple[Path, str, str]]) -> None:
        for path, _before, after in files:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(after, encoding="utf-8")
            except OSError as error:
                raise AnsibleActionFail(f"{path} cannot be written: {error.strerror}. Free space, or choose another directory.") from error
