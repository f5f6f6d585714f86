# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects in the hub's cluster, for the plans of its certificates."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_plan import LiveObjects


class HubObjects:
    """A cluster with some objects, and nothing else.

    Args:
        objects: they; without a C(kind) they are Secrets.
        unserved: kinds that it does not serve.
    """

    def __init__(self, *objects: dict[str, Any], unserved: Collection[str] = ()) -> None:
        self._unserved = unserved
        self._objects = {self._id({"kind": "Secret", "apiVersion": "v1", **one}): one for one in objects}

    @staticmethod
    def _id(one: dict[str, Any]) -> tuple[str, ...]:
        meta = one["metadata"]
        return one["apiVersion"], one["kind"], meta.get("namespace", ""), meta["name"]

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Any:
        if kind in self._unserved:
            raise NotServed("hub", f"get {kind}", 404, {})
        return self._objects.get((api_version, kind, namespace, name))

    def list(self, api_version: str, kind: str, namespace: str = "", *, labels: str = "") -> Any:
        return [one for which, one in self._objects.items() if which[:3] == (api_version, kind, namespace)]


def live_objects(*objects: dict[str, Any], unserved: Collection[str] = ()) -> LiveObjects:
    """See C(HubObjects)."""
    return LiveObjects(HubObjects(*objects, unserved=unserved))  # type: ignore[arg-type]
