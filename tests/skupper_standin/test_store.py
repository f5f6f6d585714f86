# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What the stand-in knows of a cluster."""

from __future__ import annotations

from typing import Any

from skupper_standin.store import Store


def config(revision: int) -> dict[str, Any]:
    meta = {"namespace": "x", "name": "skupper-router", "resourceVersion": str(revision)}
    return {"kind": "ConfigMap", "metadata": {**meta, "creationTimestamp": "2026-11-22T10:00:00Z"}}


def test_what_was_deleted_before_its_own_write_was_noted_stays_away() -> None:
    store = Store(None, lambda kind, key: None, print)
    store._take("ConfigMap", {"type": "ADDED", "object": config(1)})
    store._take("ConfigMap", {"type": "DELETED", "object": config(3)})
    store.put(config(2))
    assert store.get("ConfigMap", "x", "skupper-router") is None
    store.put(config(4))  # made anew
    assert store.get("ConfigMap", "x", "skupper-router") == config(4)
