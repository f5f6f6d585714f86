# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An archive for people who help: what clusters have of a federation, without its secrets.

A text is masked before it is in the archive: values of the Secrets of its cluster and of the hub, private keys, tokens, and values of a vault.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import tarfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..apply.redacted_diff import Mask
from ..base.errors import ClusterError
from ..base.foreign_data import cleaned, without_controls
from ..base.formats import columns, is_path, is_secret, readable
from ..base.object_names import CA_NAMESPACE_ANNOTATION, CLIENTS_CONFIG
from ..base.plain_data import is_vaulted, map_texts, without_vaulted
from ..kube.client import Cluster
from ..marks import proof
from .pod_logs import Place, Reader, Wanted, merge

CONTENTS = "CONTENTS.txt"
_RBAC = "rbac.authorization.k8s.io/v1"
_KINDS = (
    *(("v1", kind) for kind in ("Pod", "ConfigMap", "Service", "PersistentVolumeClaim", "ServiceAccount")),
    *(("apps/v1", kind) for kind in ("StatefulSet", "Deployment", "DaemonSet")),
    *(("batch/v1", kind) for kind in ("Job", "CronJob")),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    (_RBAC, "Role"),
    (_RBAC, "RoleBinding"),
)
_SECRET = "(secret)"
_SHARE = 3  # all lists of a cluster together have this part of the memory that one list may take
_EVENTS = 1000  # of a namespace, the last ones
_SHORTEST = 6  # characters of a value that is looked for; shorter ones are part of many words
_LENGTHS = 20  # of secrets that begin alike
_COMPARED = 1000  # characters for each one of a text: secrets may be as long as it, and begin at each of its places
# Each pattern reads a text once, whatever it begins and does not end: a Secret or a log of 1 MiB would otherwise take minutes, in which nothing else runs.
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----")
_MOST = 8000  # characters of a private key whose end is missing
_PATTERNS = (
    re.compile(rf"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.{{0,{_MOST}}}?-----END [A-Z ]*PRIVATE KEY-----|.{{0,{_MOST}}})", re.DOTALL),
    re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]+"),
    re.compile(r"(?<![\w-])(?=[\w-]+\.[\w-]{8,}\.)[\w-]*?\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"),  # a JSON Web Token, with what it is joined to by a dash
    re.compile(r"(?<=[Bb]earer )[\w.~+/=-]{8,}"),
    re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"),  # user and password of a URL
)


class Redaction:
    """Takes secrets out of texts, in a time that does not depend on how many there are: one site's Secrets must not delay the archive of all.

    Args:
        secrets: see C(secret_texts).
        public: names that everyone knows, and that may be user names in Secrets.

    Attributes:
        masked: how many places were.
    """

    def __init__(self, secrets: Iterable[str], public: Iterable[str] = ()) -> None:
        self._secrets = {*secrets} - {*public}
        starts: dict[str, set[int]] = {}
        for one in self._secrets:
            starts.setdefault(one[:_SHORTEST], set()).add(len(one))
        self._lengths = {start: sorted(lengths, reverse=True) for start, lengths in starts.items()}
        self._left = 0
        self.masked = 0

    def text(self, text: str) -> str:
        """A text without secrets."""
        self._left = _COMPARED * len(text)
        kept, begin, end = [], 0, 0  # a secret, or several that overlap, is hidden from begin to end
        for at in range(len(text) - _SHORTEST + 1):
            if length := self._length(text, at):
                if at >= end:
                    kept += [text[begin:end] and _SECRET, text[end:at]]
                    begin, self.masked = at, self.masked + 1
                end = max(end, at + length)
        text = "".join([*kept, text[begin:end] and _SECRET, text[end:]])
        for pattern in _PATTERNS:
            text, count = pattern.subn(_SECRET, text)
            self.masked += count
        return str(without_vaulted(text))

    def _length(self, text: str, at: int) -> int:
        """Length of the longest secret at a place of a text; 0 if there is none. What would take too long to compare is hidden to the end of its line."""
        lengths = self._lengths.get(text[at : at + _SHORTEST], [])
        if not lengths:
            return 0
        if len(lengths) <= _LENGTHS:
            lengths = [length for length in lengths if length <= len(text) - at]
            self._left -= sum(lengths)
            if self._left >= 0 or not lengths:
                return next((length for length in lengths if text[at : at + length] in self._secrets), 0)
        line_end = text.find("\n", at)  # secrets have no line ends
        return (line_end if line_end >= 0 else len(text)) - at

    def json(self, value: Any) -> str:
        """Data without secrets, as JSON."""
        return self.text(json.dumps(map_texts(value, self.text), indent=1, sort_keys=True, default=str)) + "\n"


def secret_texts(secrets: Iterable[Mapping[str, Any]]) -> set[str]:
    """What must not be seen of live Secrets: their values as they are stored, and decoded line by line. Certificates are public."""
    found: set[str] = set()
    for secret in secrets:
        for stored in (secret.get("data") or {}).values():
            with suppress(ValueError):
                text = _CERTIFICATE.sub("", base64.b64decode(stored).decode("utf-8", "replace")).strip()
                if text:
                    found |= {str(stored), *(line.strip() for line in text.splitlines() if not line.startswith("-----"))}
    return {text for text in found if len(text) >= _SHORTEST}


@dataclass
class Part:
    """What is in the archive of one host.

    Attributes:
        objects: without values of Secrets.
        events: of its namespace.
        logs: lines.
        secrets: see C(secret_texts).
        version: of Kubernetes.
        notes: sentences on what could not be read.
    """

    objects: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)
    version: str = ""
    notes: list[str] = field(default_factory=list)


def collect(cluster: Cluster, places: Sequence[Place], wanted: Wanted) -> Part:
    """Read what a cluster has of a federation. What may not be read is noted.

    Raises:
        ClusterError: the cluster does not answer.
    """
    begun, most = cluster.memory, cluster.max_list_bytes // _SHARE
    part, mask = Part(version=str(cluster.request("GET", "/version").get("gitVersion", ""))), Mask()

    def listed(api_version: str, kind: str, namespace: str, labels: str | None = None) -> list[dict[str, Any]]:
        cluster.max_list_bytes = max(most - (cluster.memory - begun), 0)
        try:
            return cluster.list(api_version, kind, namespace, labels=labels)
        except ClusterError as error:
            part.notes.append(f"{cluster.name}: {kind} in namespace {namespace}: {cleaned(error.message, 300)}")
            return []

    for place in places:
        own = f"{proof.INSTANCE}={place.federation}"
        found = [one for api_version, kind in _KINDS for one in listed(api_version, kind, place.namespace, own)]
        secrets = listed("v1", "Secret", place.namespace)
        for one in found:
            keys = proof.annotations_of(one).get(CA_NAMESPACE_ANNOTATION) if one["metadata"]["name"] == CLIENTS_CONFIG else ""
            secrets += listed("v1", "Secret", keys) if keys and keys != place.namespace else []
        part.secrets |= secret_texts(secrets)
        found += [one for one in secrets if proof.belongs(one, place.federation)]
        part.objects += [_shown(mask.shown(one)) for one in found]
        events = sorted(listed("v1", "Event", place.namespace), key=lambda one: str(one.get("lastTimestamp") or one.get("eventTime") or ""))
        part.events += [_shown(one) for one in events[-_EVENTS:]]
        reader = Reader(cluster, place, wanted)
        try:
            part.logs += map(str, merge([reader.read()]))
        except ClusterError as error:
            part.notes.append(f"{cluster.name}: logs: {cleaned(error.message, 300)}")
        part.notes += reader.notes
    return part


def _shown(item: dict[str, Any]) -> dict[str, Any]:
    """An object without what only the API server needs, and without values of environment variables that look like secrets."""
    kept = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    shown: dict[str, Any] = hidden({**item, "metadata": kept})
    return shown


def hidden(value: Any, key: str = "") -> Any:
    """Data without values of a vault, and without those that look like secrets by their names: in pairs of name and value, and with C(key)."""
    if is_vaulted(value):
        return "(a value of the vault)"
    if key.endswith("kubeconfig") and value and not (isinstance(value, str) and is_path(value)):
        return _SECRET  # its content, with keys and tokens
    if isinstance(value, Mapping):
        shown = {name: hidden(one, str(name) if key else "") for name, one in value.items()}
        is_pair = isinstance(shown.get("name"), str) and isinstance(shown.get("value"), str)
        return {**shown, "value": _SECRET} if is_pair and is_secret(shown["name"], shown["value"]) else shown
    if isinstance(value, (list, tuple)):
        return [hidden(one, key) for one in value]
    return _SECRET if key and isinstance(value, str) and value and is_secret(key, value) else value


def contents(title: str, findings: Sequence[Mapping[str, str]], files: Mapping[str, str], notes: Sequence[str]) -> str:
    """The table of contents, the faults of the federation first."""
    lines = [title, "", "What federated.flower.status finds:"]
    for one in findings:
        lines += [f"  {one['level']}: {one['text']}", f"    {one['remedy']}"]
    lines += [] if findings else ["  no problem"]
    lines += ["", "Files:", *(f"  {line}" for line in columns([(name, readable(len(text.encode()))) for name, text in files.items()]))]
    lines += ["", "Not in the archive:", *(f"  {note}" for note in notes or ["  nothing is missing"])]
    return without_controls("\n".join(lines)) + "\n"


def write(path: Path, folder: str, files: Mapping[str, str]) -> int:
    """Write the archive, which only its owner may read; returns its size.

    Raises:
        ClusterError: the file exists, or cannot be written; then there is none.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ClusterError(f"{path} exists, and is not replaced: choose another file (flower_support_file).") from None
    except OSError as error:
        raise ClusterError(f"{path} cannot be written (flower_support_file): {error.strerror}.") from error
    try:
        with os.fdopen(descriptor, "wb") as stream, tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for name, text in files.items():
                data = text.encode("utf-8", "replace")
                member = tarfile.TarInfo(f"{folder}/{name}")
                member.size, member.mode, member.mtime = len(data), 0o600, int(time.time())
                archive.addfile(member, io.BytesIO(data))
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ClusterError(f"{path} cannot be written (flower_support_file): {error.strerror}.") from error
        raise
    return path.stat().st_size
