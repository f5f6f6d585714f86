# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What a cluster holds, kept up to date by watches, with a word to whom it concerns after every change."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from .kube import ApiError, Client, Object

Key = tuple[str, str]  # namespace, name
WATCHED = {
    "Site": "",
    "Link": "",
    "Listener": "",
    "MultiKeyListener": "",
    "Connector": "",
    "AttachedConnector": "",
    "AttachedConnectorBinding": "",
    "AccessGrant": "",
    "AccessToken": "",
    "RouterAccess": "",
    "SecuredAccess": "",
    "Certificate": "",
    # §2b: only Secrets of this type count; others are looked up where their being there matters
    "Secret": "fieldSelector=type%3Dkubernetes.io%2Ftls",
    "ConfigMap": "",
    "Service": "",
    "Pod": "",
    "Deployment": "labelSelector=application%3Dskupper-controller",
}
CUSTOM = [kind for kind in WATCHED if kind not in ("Secret", "ConfigMap", "Service", "Pod", "Deployment")]
WATCH_SECONDS = 300
RETRY = 0.5  # seconds


class Store:
    """Objects by kind and key. ``changed(kind, key)`` is called from the watching threads."""

    def __init__(self, client: Client, changed: Callable[[str, Key], None], log: Callable[[str], None]) -> None:
        self._client = client
        self._changed = changed
        self._log = log
        self._lock = threading.RLock()
        self._items: dict[str, dict[Key, Object]] = {kind: {} for kind in WATCHED}
        self._deleted: dict[tuple[str, Key], int] = {}  # revision of what was deleted last
        self._synced = {kind: threading.Event() for kind in WATCHED}
        self._missing: dict[str, str] = {}

    def start(self) -> None:
        """Begin to watch."""
        for kind in WATCHED:
            threading.Thread(target=self._follow, args=(kind,), daemon=True).start()

    def synced(self) -> bool:
        """Whether every kind was listed once. False while a definition is missing."""
        return all(event.is_set() for event in self._synced.values())

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """One object as last seen."""
        with self._lock:
            return self._items[kind].get((namespace, name))

    def all(self, kind: str, namespace: str | None = None) -> list[Object]:
        """Objects of a kind as last seen, the oldest first."""
        with self._lock:
            found = [item for key, item in self._items[kind].items() if namespace in (None, key[0])]
        return sorted(found, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]))

    def concerned(self, namespace: str) -> bool:
        """Whether a namespace holds anything of Skupper's API."""
        with self._lock:
            return any(key[0] == namespace for kind in CUSTOM for key in self._items[kind])

    def namespaces(self) -> set[str]:
        """Namespaces that hold anything of Skupper's API."""
        with self._lock:
            return {key[0] for kind in CUSTOM for key in self._items[kind]}

    def put(self, item: Object) -> None:
        """Keep what a write returned, until the watch tells the same or something newer."""
        data = item["metadata"]
        key = (data.get("namespace", ""), data["name"])
        with self._lock:
            items = self._items.get(item["kind"])
            if items is None or _revision(item) <= self._deleted.get((item["kind"], key), 0):
                return  # the watch was faster: it is gone already
            if key not in items or _revision(items[key]) < _revision(item):
                items[key] = item

    def drop(self, kind: str, namespace: str, name: str) -> None:
        """Forget what was deleted."""
        with self._lock:
            self._items[kind].pop((namespace, name), None)

    def _follow(self, kind: str) -> None:
        while True:
            try:
                since = self._list(kind)
                self._missing.pop(kind, None)
                while True:
                    for event in self._client.watch(kind, WATCHED[kind], since, WATCH_SECONDS):
                        since = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK":
                            self._take(kind, event)
            except (OSError, ApiError, ValueError) as error:
                text = f"{kind}: {error}"
                if isinstance(error, ApiError) and error.status in (404, 410):
                    if error.status == 404:  # no such definition (any more): nothing of the kind is left
                        self._forget(kind)
                        self._synced[kind].clear()
                elif self._missing.get(kind) != text:
                    self._missing[kind] = text
                    self._log(text)
                time.sleep(RETRY)

    def _list(self, kind: str) -> str:
        items, since = self._client.list(kind, WATCHED[kind])
        now = {(item["metadata"].get("namespace", ""), item["metadata"]["name"]): item for item in items}
        with self._lock:
            before = self._items[kind]
            self._items[kind] = now
        self._synced[kind].set()
        for key in {*before, *now}:
            if key not in before or key not in now or _revision(before[key]) != _revision(now[key]):
                self._changed(kind, key)
        return since

    def _take(self, kind: str, event: Object) -> None:
        item = event["object"]
        key = (item["metadata"].get("namespace", ""), item["metadata"]["name"])
        with self._lock:
            if event["type"] == "DELETED":
                self._deleted[kind, key] = _revision(item)
                self._items[kind].pop(key, None)
            elif key not in self._items[kind] or _revision(self._items[kind][key]) <= _revision(item):
                self._items[kind][key] = item
        self._changed(kind, key)

    def _forget(self, kind: str) -> None:
        with self._lock:
            gone, self._items[kind] = self._items[kind], {}
        for key in gone:
            self._changed(kind, key)


def _revision(item: Object) -> int:
    return int(item["metadata"]["resourceVersion"])
