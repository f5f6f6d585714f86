# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the hub of an audit trail: an API server that has ConfigMaps alone."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ERRORS, ApiError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster

MIB = 1024 * 1024


class Hub(Cluster):
    """It has ConfigMaps of at most 1 MiB, and refuses writes to an older version, to immutable ones, and what contains a word.

    Args:
        word: the word.
        status: HTTP code of its refusal.
        objects: the ConfigMaps that it has.
    """

    def __init__(self, word: str = "no such word", status: int = 422, objects: Iterable[dict[str, Any]] = ()) -> None:
        self.name = "hub"
        self.found: dict[str, dict[str, Any]] = {}
        self.word, self.status = word, status
        self.conflicts = 0
        #: Called once, before the next write.
        self.before_write: Callable[[], Any] | None = None
        #: Called once, after the next write.
        self.after_write: Callable[[], Any] | None = None
        self._lock = threading.Lock()
        for item in objects:
            self.create(item)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        return copy.deepcopy(self.found.get(name))

    def create(self, obj: Any, *, dry_run: bool = False) -> dict[str, Any]:
        return self._store(obj, None)

    def replace(self, obj: Any) -> dict[str, Any]:
        return self._store(obj, obj["metadata"]["resourceVersion"])

    def _store(self, obj: Any, version: str | None) -> dict[str, Any]:
        if before := self.before_write:
            self.before_write = None
            before()
        with self._lock:
            name = obj["metadata"]["name"]
            live = self.found.get(name)
            size = sum(len(text) for text in obj["data"].values())
            if (live and live["metadata"]["resourceVersion"]) != version:
                self.conflicts += 1
                raise self._error(409, "it was changed")
            if live and live.get("immutable") and live["data"] != obj["data"]:
                raise self._error(422, "field is immutable when `immutable` is set")
            if size > MIB or self.word in json.dumps(obj["data"]):
                raise self._error(self.status, f"refused: {size} bytes")
            meta = {**obj["metadata"], "resourceVersion": str(int(version or 0) + 1)}
            self.found[name] = copy.deepcopy({**obj, "metadata": meta})
        if after := self.after_write:
            self.after_write = None
            after()
        return self.found[name]

    @staticmethod
    def _error(status: int, message: str) -> ApiError:
        return ERRORS.get(status, ApiError)("hub", "PUT", status, {"message": message})
