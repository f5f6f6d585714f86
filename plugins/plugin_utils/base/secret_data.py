# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets of the collection, as objects. Pure: values come from the caller."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from .labels import record_labels

CREDENTIALS = "credentials"


def encode(value: str) -> str:
    """Text as in a Secret's C(data)."""
    return base64.b64encode(value.encode("ascii")).decode("ascii")


def entries(secret: Mapping[str, Any] | None) -> dict[str, str]:
    """Decoded C(data) of a live Secret, without entries that are no ASCII text (a key store in someone's Secret)."""
    decoded = {name: base64.b64decode(value) for name, value in ((secret or {}).get("data") or {}).items()}
    return {name: value.decode("ascii") for name, value in decoded.items() if value.isascii()}


def written_at(secret: Mapping[str, Any] | None) -> str:
    """When a live Secret was last written, by the API server's clock: RFC 3339 in UTC, of one length; empty if that is not known."""
    meta = (secret or {}).get("metadata") or {}
    written = [meta.get("creationTimestamp"), *(entry.get("time") for entry in meta.get("managedFields") or [])]
    # The texts are in the order of time.
    return max(filter(None, written), default="")


def secret(
    federation: str,
    namespace: str,
    name: str,
    data: Mapping[str, str],
    *,
    application: str,
    component: str = CREDENTIALS,
    kind: str = "Opaque",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A Secret object.

    Args:
        federation: the federation's name, for labels.
        namespace: its namespace.
        name: its name.
        data: entries in plain text.
        application: C(superlink) or C(supernode).
        component: what it is part of.
        kind: the Secret's C(type).
        labels: more labels.
        annotations: its annotations.
    """
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": {**record_labels(federation, application, component), **(labels or {})},
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": kind,
        "data": {key: encode(value) for key, value in sorted(data.items())},
    }
