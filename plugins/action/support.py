# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.support): write an archive for people who help."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.release import __version__ as ansible_version

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_reader import FleetReader
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.version import VERSION
from ansible_collections.federated.flower.plugins.plugin_utils.checks.variables import PREFIXES
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import support_archive
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.support_archive import Part, Redaction
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site

_API_SECONDS = 10
_ACCESS = ("kubeconfig", "context", "host")  # of flower_auth


class ActionModule(FleetReader):
    """See the module's documentation."""

    NOTES_MESSAGE = False  # the file is on the control node

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Read all clusters, mask what is secret, and write the archive."""
        now, status = datetime.datetime.now(datetime.timezone.utc), params["status"]
        findings = status.get("findings") or []
        hub, path = self.hub_host(), Path(params["file"])
        if path.is_dir():
            path /= f"flower-support-{self.of_hub('federation', hub)}-{now:%Y%m%dT%H%M%SZ}.tar.gz"
        if path.exists() or not path.parent.is_dir():
            raise ClusterError(f"{path} {'exists, and is not replaced' if path.exists() else 'is in a folder that does not exist'} (flower_support_file).")
        wanted = self.wanted_lines(params["lines"], params["since"])
        asked = [name for name in outcomes.sites if name != hub]
        places = self.places(sites, outcomes, hub=True)

        def collect(name: str) -> Part:
            with self.connect(name, timeout=_API_SECONDS) as cluster:
                cluster.name = name
                return support_archive.collect(cluster, places[name], wanted)

        parts = outcomes.each(collect, places)
        notes = [outcome.msg for outcome in outcomes.sites.values() if outcome.failed] + [note for part in parts.values() for note in part.notes]
        self.public("")  # reads the values of the vault
        of_hub = parts[hub].secrets if hub in parts else set[str]()
        public = {*outcomes.sites, *(word for listed in places.values() for place in listed for word in (place.namespace, place.federation))}
        of_all = Redaction({text for part in parts.values() for text in part.secrets}, public)
        files = {
            "status.json": of_all.json(status),
            "audit.txt": of_all.text("\n".join(params["changes"])) + "\n",
            "versions.json": of_all.json(self._versions(status, parts)),
            "inventory.json": of_all.json({name: self._variables(name) for name in [hub, *asked]}),
        }
        redactions = [of_all]
        for name, part in parts.items():
            own = of_all if name == hub else Redaction(part.secrets | of_hub, public)
            redactions.append(own)
            files[f"{name}/objects.json"] = own.json(part.objects)
            files[f"{name}/events.json"] = own.json(part.events)
            files[f"{name}/logs.txt"] = own.text("\n".join(part.logs)) + "\n"
        masked = sum(one.masked for one in redactions)
        title = f"Federation {self.of_hub('federation', hub)}, {now:%Y-%m-%dT%H:%M:%SZ}. Secrets in it were replaced by (secret): {masked} places."
        table = of_all.text(support_archive.contents(title, findings, files, notes))
        size = 0 if self.check else support_archive.write(path, path.name.partition(".")[0], {support_archive.CONTENTS: table, **files})
        return {
            "changed": True,
            "file": str(path),
            "findings": findings,
            "notes": notes,
            "masked": masked,
            "msg": f"{path}: {size} bytes, {len(files) + 1} files of {len(parts)} clusters",
        }

    @staticmethod
    def _versions(status: Mapping[str, Any], parts: Mapping[str, Part]) -> dict[str, Any]:
        flower = {site["cluster"]: sorted({pool["version"] for pool in site["pools"] if pool["version"]}) for site in status.get("sites") or []}
        return {
            "collection": VERSION,
            "ansible_core": ansible_version,
            "python": platform.python_version(),
            "flower": {"hub": (status.get("hub") or {}).get("version"), **flower},
            "kubernetes": {name: part.version for name, part in parts.items()},
        }

    def _variables(self, name: str) -> dict[str, Any]:
        """Variables of the collection that a host of the inventory has, not templated: a template may read a secret."""
        try:
            raw = self._evaluated(name)[0]
        except (AnsibleError, ClusterError) as error:
            return {"error": str(error)}
        found = {key: value for key, value in raw.items() if key.startswith(PREFIXES) and value is not self._defaults.values.get(key)}
        if isinstance(found.get("flower_auth"), Mapping):
            found["flower_auth"] = {key: value for key, value in found["flower_auth"].items() if key in _ACCESS}
        return {key: support_archive.hidden(value, key) for key, value in sorted(found.items())}
