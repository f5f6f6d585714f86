# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub that has a namespace and a lease, in memory: versions of objects as an API server has them."""

from __future__ import annotations

import copy
import datetime
import threading
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict, NotFound, Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.state import lease_object


class LeaseHub(Cluster):
    """The hub. C(is_down): it does not answer. C(has_namespace): whether there is one."""

    skew = 0.0
    federation = "study"

    def __init__(self) -> None:
        self.name = self.server = self.host = "hub"
        self.lease: dict[str, Any] | None = None
        self.is_down, self.has_namespace, self.versions = False, True, 0
        self.renewed = threading.Event()

    def __enter__(self) -> LeaseHub:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def close(self) -> None:
        """Nothing is open."""

    def get(self, _version: str, kind: str, *_place: Any) -> dict[str, Any] | None:
        if self.is_down:
            raise Unreachable("hub: no answer")
        return copy.deepcopy(self.lease) if kind == lease_object.KIND else None

    def _write(self, item: Any) -> dict[str, Any]:
        self.versions += 1
        self.lease = copy.deepcopy({**item, "metadata": {**item["metadata"], "uid": "u", "resourceVersion": str(self.versions)}})
        return copy.deepcopy(self.lease)

    def create(self, obj: Any, *, dry_run: bool = False) -> dict[str, Any]:
        if not self.has_namespace:
            raise NotFound("hub", "POST", 404, {})
        if self.lease is not None:
            raise Conflict("hub", "POST", 409, {})
        return self._write(obj)

    def replace(self, obj: Any) -> dict[str, Any]:
        if self.lease is None or obj["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Conflict("hub", "PUT", 409, {})
        self.renewed.set()
        return self._write(obj)

    def delete(self, *_place: Any, version: str | None = None, **_more: Any) -> dict[str, Any] | None:
        if self.lease is not None and self.lease["metadata"]["resourceVersion"] != version:
            raise Conflict("hub", "DELETE", 409, {})
        gone, self.lease = self.lease, None
        return gone

    @property
    def holder(self) -> str:
        """Who holds the lease; empty for nobody."""
        return lease_object.holder(self.lease)

    def taken_by(self, identity: str, *, ago: float = 0) -> None:
        """Have someone take it, so many seconds ago."""
        then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=ago)
        self._write(lease_object.taken(None, "flower", self.federation, identity, then))
