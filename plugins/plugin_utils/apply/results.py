# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of applying a list of objects, and errors in a sentence with the object, the field and the remedy. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..kube.api_errors import ApiError, Forbidden, NotServed
from .order import Id
from .redacted_diff import Mask, content_digest, diff_entry

Object = dict[str, Any]

_WEBHOOK_DENIED = re.compile(r'admission webhook "(?P<name>[^"]+)" denied the request:?\s*(?P<why>.*)', re.S)
_WEBHOOK_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)":\s*(?P<why>.*)', re.S)
_POLICY = re.compile(r"ValidatingAdmissionPolicy '(?P<name>[^']+)'.*?denied request: (?P<why>.*)", re.S)
_QUOTA = re.compile(r"exceeded quota: (?P<why>.*)", re.S)
_SCHEMA = re.compile(r"(?:failed to create typed patch object \([^)]*\)|strict decoding error|error decoding patch): ?(?P<why>.*)", re.S)
_UNMARSHAL = re.compile(r"(?P<why>(?:json: )?cannot unmarshal .*|cannot convert .*|.*expected .*, got .*)", re.S)
_NO_NAMESPACE = re.compile(r'^namespaces "(?P<name>[^"]+)" not found')
_TERMINATING = re.compile(r"because it is being terminated")
_LONGEST_CAUSE = 1000
_IMMUTABLE = re.compile(r"immutable|may not change once set|may not be changed|are forbidden|cannot change|is forbidden when")


@dataclass
class Result:
    """The result. Contains no Secret data."""

    changed: bool = False
    msg: str = ""
    #: {apiVersion, kind, namespace, name, change} per object; change: created, changed, unchanged, deleted, failed;
    #: sha256 (of what was applied) where it was created or changed and is not a Secret
    objects: list[dict[str, str]] = field(default_factory=list)
    #: entries for Ansible's --diff, only of objects that differ; empty unless asked for
    diff: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: {apiVersion, kind, namespace, name, category, message} per object that failed
    errors: list[dict[str, str]] = field(default_factory=list)
    requests: int = 0
    _live: list[Object] = field(default_factory=list, repr=False)
    _mask: Mask = field(default_factory=Mask, repr=False)

    @property
    def applied(self) -> list[Object]:
        """The listed objects as they are live now, with status; without managedFields, secrets masked."""
        return [_shown(self._mask, obj) for obj in self._live]

    def as_dict(self, *, applied: bool = False) -> dict[str, Any]:
        """For the result of an action plugin.

        C(applied) is omitted unless requested: a result passes through Ansible's only parent process, which takes
        some 20 ms of CPU to copy and clean the live objects of one host, as long as the whole pass in its fork.
        """
        optional = ("errors", "diff", "warnings")
        reported = {key: value for key, value in vars(self).items() if not key.startswith("_") and (value or key not in optional)}
        return reported | {"applied": self.applied} if applied else reported


class ApplyFailed(ClusterError):
    """One or more objects failed. C(result) has the outcome of each."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class Recorder:
    """Collects what becomes of the objects of one run, without what is secret in them.

    Args:
        objects: the desired ones.
        show_diff: whether differences are wanted.
    """

    def __init__(self, objects: Iterable[Object], show_diff: bool) -> None:
        self.result = Result()
        self._mask = self.result._mask
        self._unknown = list(objects)  # whose secrets the mask does not know yet
        self._show_diff = show_diff

    def record(self, which: Id, api_version: str, change: str, written: Object | None = None) -> None:
        """What became of an object; C(written): as it was applied."""
        sha256 = content_digest(written) if written else ""
        reported = {"apiVersion": api_version, **_named(which), "change": change}
        self.result.objects.append(reported | ({"sha256": sha256} if sha256 else {}))

    def error(self, which: Id | None, api_version: str, category: str, message: str) -> None:
        """Why an object failed, or with None the whole run."""
        text = self._safe(message, secret=which is not None and which.kind == "Secret")
        names = _named(which or Id("", "", "", ""))
        self.result.errors.append({"apiVersion": api_version, **names, "category": category, "message": f"{which}: {text}" if which else text})

    def warn(self, text: str) -> None:
        """A warning, once."""
        text = self._safe(text)
        if text not in self.result.warnings:
            self.result.warnings.append(text)

    def show(self, which: Id, before: Object | None, after: Object | None) -> None:
        """What differs of an object, where that is wanted."""
        if self._show_diff:
            self.result.diff.append(diff_entry(which, before, after, self._mask))

    def _safe(self, text: str, *, secret: bool = False) -> str:
        self._mask.learn(self._unknown)
        self._unknown = []
        return self._mask.text(text, secret=secret)


def _named(which: Id) -> dict[str, str]:
    return {"kind": which.kind, "namespace": which.namespace, "name": which.name}


def merged_results(results: Iterable[Result]) -> dict[str, Any]:
    """What became of all objects, in the format of C(apply), without C(msg)."""
    listed = list(results)
    return {
        "changed": any(one.changed for one in listed),
        "objects": [entry for one in listed for entry in one.objects],
        "diff": [entry for one in listed for entry in one.diff],
        "warnings": [word for one in listed for word in one.warnings],
        "requests": sum(one.requests for one in listed),
    }


def _shown(mask: Mask, obj: Mapping[str, Any]) -> Object:
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return mask.shown({**obj, "metadata": meta})


def describe_error(error: ApiError) -> tuple[str, str]:
    """(category, sentence without the object's name) for an error that the API server returned for one object.

    Categories: forbidden, quota, webhook, policy, schema, immutable, invalid, conflict, not found, not served,
    terminating, too large, refused.
    """
    text = " ".join(error.text.split())
    if isinstance(error, NotServed):
        return "not served", text
    for category, pattern, form in (
        ("quota", _QUOTA, "quota exceeded: {why}. Request a higher quota, or reduce the object's resources"),
        ("webhook", _WEBHOOK_DENIED, "denied by the admission webhook '{name}': {why}"),
        (
            "webhook",
            _WEBHOOK_DOWN,
            "the admission webhook '{name}' did not answer ({why}); the cluster's administrator must repair or remove it",
        ),
        ("policy", _POLICY, "denied by the ValidatingAdmissionPolicy '{name}': {why}"),
        ("not found", _NO_NAMESPACE, "the namespace {name} does not exist: create it first, or add it to the list"),
    ):
        match = pattern.search(text)
        if match:
            return category, form.format(**match.groupdict())
    if isinstance(error, Forbidden):
        return _forbidden(error, text)
    match = _SCHEMA.search(text) or (_UNMARSHAL.search(text) if error.status in (400, 500) else None)
    if match:
        return "schema", f"not valid for its schema: {match['why']}"
    if error.status == 422:
        return _invalid(error, text)
    if error.status == 409:
        if _TERMINATING.search(text):
            return "terminating", f"{text}. Run again when it is gone"
        return "conflict", f"conflict: {text}. Run again"
    if error.status == 413 or "Request entity too large" in text:
        return "too large", f"too large for the API server: {text}"
    return "refused", f"{error.reason or f'HTTP {error.status}'}: {text}"


def _forbidden(error: Forbidden, text: str) -> tuple[str, str]:
    if _TERMINATING.search(text):
        return "terminating", f"{text}. Run again when the namespace is gone"
    if not error.verb:
        return "forbidden", f"forbidden: {text}"
    where = f" in namespace {error.namespace}" if error.namespace else ""
    group = f", API group {error.group}" if error.group else ""
    return "forbidden", (
        f"forbidden: user {error.user} cannot {error.verb} {error.resource}{where} "
        f"(verb {error.verb}, resource {error.resource}{group})"
    )


def _invalid(error: ApiError, text: str) -> tuple[str, str]:
    causes = [one for one in error.details.get("causes") or [] if isinstance(one, Mapping)]
    reported = cleaned("; ".join(_fitting(dict.fromkeys(_cause(one) for one in causes)))) or text
    if _IMMUTABLE.search(reported):
        fields = cleaned(", ".join(dict.fromkeys(str(one["field"]) for one in causes if one.get("field")))) or "a field"
        return "immutable", (
            f"{fields} cannot be changed on a live object ({reported}). Restore the old value, or delete the object "
            "(for a StatefulSet: kubectl delete --cascade=orphan, its pods and volumes stay) and run again"
        )
    return "invalid", f"invalid: {reported}"


def _fitting(texts: Iterable[str]) -> list[str]:
    """Those that fit into a message. None is cut: a part of a secret that it echoes would not be masked."""
    lengths = itertools.accumulate(len(f"{text}; ") for text in texts)
    return [text for text, length in zip(texts, lengths) if length <= 2 * _LONGEST_CAUSE]


def _cause(one: Mapping[str, Any]) -> str:
    message = " ".join(str(one.get("message", "")).split())
    if len(message) > _LONGEST_CAUSE:  # it echoes a whole object, and gives the reason after it
        message = message.rpartition(": ")[2]
    field = str(one.get("field", ""))
    return f"{field}: {message}" if field and field != "<nil>" and field not in message else message
