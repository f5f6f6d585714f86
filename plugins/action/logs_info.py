# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.logs_info): read and follow the logs of all clusters."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_reader import FleetReader
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import without_vaulted
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.pod_logs import Line, Reader, follow, merge
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site

_API_SECONDS = 10


class ActionModule(FleetReader):
    """See the module's documentation."""

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """Read all clusters at the same time, show the lines in the order of time, and then new ones."""
        if params["follow"] < 0 or (params["follow"] and params["previous"]):
            raise ClusterError(
                f"follow: {params['follow']} is not a number of seconds from 0, or previous is set: the log of a terminated container cannot be followed."
            )
        wanted = self.wanted_lines(*(params[name] for name in ("lines", "since", "grep", "run_id")), previous=params["previous"])
        places = self.places(sites, outcomes, hub=params["hub"])
        self.public("")  # reads the values of the vault
        begun = time.monotonic()
        readers: dict[str, list[Reader]] = {}

        def read(name: str) -> list[list[Line]]:
            readers[name] = [Reader(self.connect(name, timeout=_API_SECONDS), place, wanted) for place in places[name]]
            return [reader.read() for reader in readers[name]]

        try:
            found = outcomes.each(read, places)
            lines = [without_vaulted(str(line)) for line in merge(lines for listed in found.values() for lines in listed)]
            seconds = time.monotonic() - begun
            opened = [reader for name in found for reader in readers[name]]
            notes = [outcome.msg for outcome in outcomes.sites.values() if outcome.failed] + [note for reader in opened for note in reader.notes]
            if places and not found:
                raise ClusterError("; ".join(notes))
            if params["show"]:
                for line in lines:
                    self.say(line)
            if params["follow"] and not self.check:
                follow(opened, params["follow"], lambda words: self.say(without_vaulted(words)), outcomes.require_playbook)
        finally:
            for reader in (reader for listed in readers.values() for reader in listed):
                reader.cluster.close()
        return {"lines": lines, "notes": notes, "warnings": notes, "msg": f"{len(lines)} lines of {len(found)} clusters in {seconds:.1f} s"}
