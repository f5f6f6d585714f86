# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hash that identifies an applied object in the audit trail. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.digests import digest
from .mask import without_secrets


def content_digest(obj: Mapping[str, Any]) -> str:
    """SHA-256 of an object as it was applied; empty for a Secret.

    The hash of a short password can be guessed, so nothing secret goes into it: no values of Secrets, and no values of
    environment variables, where people put passwords although they should not.
    """
    return "" if obj.get("kind") == "Secret" else digest(_without_env(without_secrets(obj)))


def _without_env(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: [_without_value(item) for item in inner]
            if key == "env" and isinstance(inner, list)
            else _without_env(inner)
            for key, inner in value.items()
        }
    return [_without_env(item) for item in value] if isinstance(value, list) else value


def _without_value(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    return {key: value for key, value in item.items() if key != "value"}
