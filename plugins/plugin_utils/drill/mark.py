# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mark of a drill: what it is breaking, in a ConfigMap of the hub from before the first change until everything is undone.

Whenever a control node dies in between, the next run of federated.flower.drill or federated.flower.site finds it, and undoes the rest.

  C(drill)    name of the drill.
  C(started)  time, ISO 8601.
  C(facts)    what the drill needs to undo it; C(run) is the number of its own run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.names import DRILL as NAME
from ..kube.client import Cluster
from ..kube.configmaps import config_map, remove, retry_on_conflict, write

_KEY = "drill.json"

Mark = dict[str, Any]


def is_there(hub: Cluster, namespace: str) -> bool:
    """Whether a drill on a hub has left something to undo."""
    return hub.get("v1", "ConfigMap", NAME, namespace) is not None


class Store:
    """The ConfigMap.

    Args:
        hub: a connection to the hub.
        namespace: the SuperLink's.
        federation: its name, for labels.
    """

    def __init__(self, hub: Cluster, namespace: str, federation: str) -> None:
        self.hub, self.namespace, self.federation = hub, namespace, federation

    def read(self) -> Mark:
        """What is kept; empty for nothing.

        Raises:
            ClusterError: it cannot be read.
        """
        item = self._item()
        if item is None:
            return {}
        text = (
            f"ConfigMap {self.namespace}/{NAME} on {self.hub.name} cannot be read. It says what a drill was breaking when it was interrupted. See "
            "federated.flower.status for what is broken, repair it, and delete the ConfigMap"
        )
        with foreign_data.expect_shape(ClusterError(text)):
            found = foreign_data.read_json(item["data"][_KEY])
            return {**found, **{name: found[name] for name in ("drill", "started", "facts")}}

    def begin(self, drill: str, now: str, facts: Mapping[str, Any]) -> None:
        """Keep that a drill begins."""
        self._write({"drill": drill, "started": now, "facts": dict(facts)})

    def add(self, facts: Mapping[str, Any]) -> None:
        """Keep more facts of the drill that is under way."""
        known = self.read()
        self._write({**known, "facts": {**known["facts"], **facts}})

    def end(self) -> None:
        """Keep nothing: all is undone.

        Raises:
            ClusterError: this collection did not create the ConfigMap.
        """
        remove(self.hub, self.namespace, NAME, self.federation)

    def _write(self, content: Mark) -> None:
        data = {_KEY: json.dumps(content, sort_keys=True, indent=1)}

        def attempt() -> None:
            item = self._item()
            if item is None:
                item = config_map(self.federation, self.namespace, NAME, data, application=NAME, component="drill")
            write(self.hub, {**item, "data": data})

        retry_on_conflict(f"ConfigMap {self.namespace}/{NAME} on {self.hub.name}", attempt)

    def _item(self) -> dict[str, Any] | None:
        item = self.hub.get("v1", "ConfigMap", NAME, self.namespace)
        return None if item is None else {"apiVersion": "v1", "kind": "ConfigMap", **item}
