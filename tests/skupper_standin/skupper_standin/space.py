# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""One namespace with something of Skupper's API, and what the controller remembers of it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .conditions import Status
from .crds import API_VERSION
from .kube import ApiError, Client, Object, path_of
from .store import Store
from .switches import Switches

CONTROLLED = "internal.skupper.io/controlled"


class AgainError(Exception):
    """Somebody changed an object in between: the namespace is to be looked at once more."""


@dataclass
class Revision:
    """Where a TLS Secret is (§3): the number of its data, and the oldest one that is still valid."""

    ordinal: int = 0
    oldest: int = 0
    digest: str = ""


@dataclass
class Space:
    """A namespace; ``later`` asks for another look after some seconds."""

    name: str
    cluster: str
    client: Client
    store: Store
    switches: Switches
    log: Callable[[str], None]
    later: Callable[[float], None]
    site: Object | None = None  # the active one
    seen: dict[str, tuple[float, str]] = field(default_factory=dict)  # uid -> time and form when it was first seen
    places: dict[tuple[str, int], str] = field(default_factory=dict)  # host and port -> the listener that has it
    left_behind: dict[str, str] = field(default_factory=dict)  # uid of a Link of a former Site -> its form then
    missed: dict[str, float] = field(default_factory=dict)  # uid of a Site that has lost something -> time
    revisions: dict[str, Revision] = field(default_factory=dict)  # profile -> revision
    tried: dict[str, str] = field(default_factory=dict)  # uid of an AccessToken -> resource version at the last try
    applied: dict[str, str] = field(default_factory=dict)  # path -> digest
    said: set[str] = field(default_factory=set)
    _statuses: dict[tuple[str, str], Status] = field(default_factory=dict)

    def say(self, text: str) -> None:
        """Log what comes up at every look, once."""
        if text not in self.said:
            self.said.add(text)
            self.log(f"{self.name}: {text}")

    # --- reading

    def get(self, kind: str, name: str) -> Object | None:
        """An object of this namespace."""
        return self.store.get(kind, self.name, name)

    def all(self, kind: str) -> list[Object]:
        """Objects of this namespace, the oldest first."""
        return self.store.all(kind, self.name)

    @property
    def owner(self) -> list[Object]:
        """§2a: what the controller makes belongs to the active Site, and goes with it."""
        assert self.site is not None
        return [owner(self.site)]

    def waits(self, item: Object, seconds: float) -> bool:
        """Whether an object was first seen less than some seconds ago, and nobody else has changed it since; asks for another look then."""
        since, form = self.seen.setdefault(item["metadata"]["uid"], (time.monotonic(), form_of(item)))
        left = since + seconds - time.monotonic()
        if left <= 0 or form != form_of(item):
            return False
        self.later(left)
        return True

    # --- writing

    def create(self, item: Object) -> Object:
        """Make an object. Raises ApiError, 409 among them."""
        item["metadata"]["namespace"] = self.name
        made = self.client.create(item)
        self.store.put(made)
        self.log(f"{self.name}: made {item['kind']} {item['metadata']['name']}")
        return made

    def replace(self, item: Object) -> Object:
        """Replace an object that was read."""
        try:
            made = self.client.replace(item)
        except ApiError as error:
            if error.status in (404, 409):
                raise AgainError(str(error)) from error
            raise
        self.store.put(made)
        return made

    def ensure(self, item: Object, *, again: bool = False) -> None:
        """Apply an object whenever the wish for it changes, and with ``again``."""
        item["metadata"]["namespace"] = self.name
        path = path_of(item["kind"], self.name, item["metadata"]["name"])
        digest = hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()
        if again or self.applied.get(path) != digest:
            self.store.put(self.client.apply(item))
            self.applied[path] = digest

    def annotate(self, item: Object, values: dict[str, str | None]) -> Object:
        """Set or remove (None) annotations, only if they differ."""
        have = item["metadata"].get("annotations") or {}
        if all(have.get(key) == value for key, value in values.items()):
            return item
        data = item["metadata"]
        path = path_of(item["kind"], self.name, data["name"])
        patch = {"metadata": {"annotations": values}}
        try:
            made = self.client.request("PATCH", path, patch, "application/merge-patch+json")
        except ApiError as error:
            if error.status == 404:
                raise AgainError(str(error)) from error
            raise
        self.store.put(made)
        return made

    def delete(self, kind: str, name: str) -> None:
        """Delete an object."""
        self.client.delete(kind, self.name, name)
        self.store.drop(kind, self.name, name)
        self.log(f"{self.name}: deleted {kind} {name}")

    # --- statuses: collected during a look at the namespace, written once at its end

    def status(self, item: Object) -> Status:
        """The status of an object, to be changed."""
        key = (item["kind"], item["metadata"]["uid"])
        if key not in self._statuses:
            self._statuses[key] = Status(item)
        return self._statuses[key]

    def flush(self, only: Object | None = None) -> None:
        """Write the statuses that changed. Raises AgainError if one object was changed by someone else."""
        lost = ""
        for key, status in list(self._statuses.items()):
            if only is not None and key != (only["kind"], only["metadata"]["uid"]):
                continue
            del self._statuses[key]
            if status.changed:
                try:
                    self.store.put(self.client.replace({**status.item, "status": status.value}, "status"))
                except ApiError as error:
                    if error.status == 409:
                        lost = str(error)
                    elif error.status != 404:
                        raise
        if lost:
            raise AgainError(lost)

    def forget(self) -> None:
        """Drop statuses that were not written."""
        self._statuses.clear()


def form_of(item: Object) -> str:
    """What someone else than the controller can change of an object."""
    data = item["metadata"]
    return json.dumps([item["spec"], data.get("annotations"), data.get("labels")], sort_keys=True)


def owner(item: Object) -> Object:
    """A reference to an owner."""
    data = item["metadata"]
    return {"apiVersion": item.get("apiVersion", API_VERSION), "kind": item["kind"], "name": data["name"], "uid": data["uid"]}


def owned_by(item: Object, uid: str) -> bool:
    """Whether an object belongs to the owner with this uid."""
    return any(one["uid"] == uid for one in item["metadata"].get("ownerReferences") or [])
