# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown and recorded of an object without its secrets: masks, diffs and content hashes. Pure, but for the salt.

A masked value shows as C((masked 1f4c09ab)). The marker is a keyed hash whose key exists as long as one
C(Mask): within one diff, equal values have equal markers, so a change is seen; without the key it is not possible to guess
values, however short they are. The name of the object and the key are hashed too, so markers do not reveal that two
different entries have the same value.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from ..base.plain_data import digest
from .compare import content
from .order import Id

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

#: Secret values outside of Secrets: (API group, kind) -> paths.
_SENSITIVE: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("skupper.io", "AccessToken"): (("spec", "code"),),
    ("skupper.io", "AccessGrant"): (("spec", "code"), ("status", "code")),
}

#: Shorter values are not searched for in messages: they would match inside ordinary words.
_SEARCHED_FROM = 6
_ECHO = re.compile(r'((?:Invalid|Unsupported|Duplicate) value: )("(?:[^"\\]|\\.)*"?|\{.*?(?:\}|$)|\[.*?(?:\]|$)|[^\s:,]+)')

_BASE = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Mask:
    """Masks the secrets of one run."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._texts: set[str] = set()

    def marker(self, where: str, value: Any) -> str:
        """What is shown instead of C(value) at C(where)."""
        digest = hmac.new(self._key, f"{where}\0{value}".encode(), "sha256").hexdigest()
        return f"(masked {digest[:8]})"

    def shown(self, obj: Any) -> Any:
        """A copy of the object that may be shown. Objects inside it (lists, work manifests) are masked as well."""
        if isinstance(obj, Mapping):
            copy = {key: self.shown(value) for key, value in obj.items()}
            if isinstance(copy.get("kind"), str) and isinstance(copy.get("apiVersion"), str):
                self._mask_object(copy)
            return copy
        if isinstance(obj, list):
            return [self.shown(item) for item in obj]
        return obj

    def _mask_object(self, obj: dict[str, Any]) -> None:
        kind = obj["kind"]
        found = obj.get("metadata")
        meta = found if isinstance(found, dict) else {}
        where = f"{kind}/{meta.get('namespace')}/{meta.get('name')}"
        if kind == "Secret":
            for part in ("data", "stringData"):
                if isinstance(obj.get(part), Mapping):
                    obj[part] = {key: self.marker(f"{where}/{key}", value) for key, value in obj[part].items()}
        annotations = meta.get("annotations")
        if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
            # it repeats the whole object
            annotations[_LAST_APPLIED] = self.marker(f"{where}/{_LAST_APPLIED}", annotations[_LAST_APPLIED])
        for path in _SENSITIVE.get((obj["apiVersion"].rpartition("/")[0], kind), ()):
            holder: Any = obj
            for step in path[:-1]:
                holder = holder.get(step) if isinstance(holder, dict) else None
            if isinstance(holder, dict) and path[-1] in holder:
                holder[path[-1]] = self.marker(f"{where}/{'.'.join(path)}", holder[path[-1]])

    def learn(self, objects: Iterable[Any]) -> None:
        """Remember the secret values of these objects, so that C(text) finds them."""
        found = _Collected()
        for obj in objects:
            found.shown(obj)
        for value in found.values:
            texts = [value]
            with contextlib.suppress(ValueError):  # of stringData and others that are not encoded
                texts.append(base64.b64decode(value, validate=True).decode())
            lines = {line.strip() for text in texts for line in (text, *text.splitlines())}
            self._texts |= {line for line in (*texts, *lines) if len(line) >= _SEARCHED_FROM}

    def text(self, message: str, *, secret: bool = False) -> str:
        """A message without secret values. C(secret): it is about a Secret, so values that it echoes go as well."""
        if secret:
            message = _ECHO.sub(r"\1(masked)", message)
        for value in sorted(self._texts, key=len, reverse=True):
            if value in message:
                message = message.replace(value, "(masked)")
        return message


class _Blank(Mask):
    """Leaves nothing of a secret, not even a marker that differs from run to run."""

    def marker(self, where: str, value: Any) -> str:
        return ""


class _Collected(Mask):
    """Collects what it masks."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[str] = []

    def marker(self, where: str, value: Any) -> str:
        self.values.append(str(value))
        return ""


def without_secrets(obj: Any) -> Any:
    """A copy of the object whose secret values are empty: equal for equal objects, with any secrets."""
    return _Blank().shown(obj)


def content_digest(obj: Mapping[str, Any]) -> str:
    """SHA-256 of an object as it was applied; empty for a Secret.

    The hash of a short password can be guessed, so nothing secret goes into it: no values of Secrets, and no values of
    environment variables, where people put passwords although they should not.
    """
    return "" if obj.get("kind") == "Secret" else digest(_without_env(without_secrets(obj)))


def _without_env(value: Any, inside: str = "") -> Any:
    """C(inside): the field that the value is in, or whose list it is in."""
    if isinstance(value, Mapping):
        if inside == "env":
            return {key: one for key, one in value.items() if key != "value"}
        return {key: _without_env(one, key if isinstance(one, list) else "") for key, one in value.items()}
    return [_without_env(one, inside) for one in value] if isinstance(value, list) else value


class _Dumper(_BASE):  # type: ignore[misc,valid-type]
    """Texts of several lines as blocks, so that a diff shows the lines that differ."""


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def diff_entry(which: Id, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, mask: Mask) -> dict[str, str]:
    """One entry of the result's C(diff). None stands for «does not exist»."""
    return {
        "before_header": f"{which} (live)" if before is not None else f"{which} (absent)",
        "after_header": f"{which}" if after is not None else f"{which} (absent)",
        "before": _dump(before, mask),
        "after": _dump(after, mask),
    }


def _dump(obj: Mapping[str, Any] | None, mask: Mask) -> str:
    if obj is None:
        return ""
    shown = mask.shown(content(obj))
    return yaml.dump(shown, Dumper=_Dumper, default_flow_style=False, sort_keys=True, width=1000, allow_unicode=True)
