# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfig files, of which only the wanted context is parsed."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import yaml

from .access_fields import check_entry
from .api_errors import AuthError

with contextlib.suppress(ImportError):  # reported by resolve()
    from kubernetes.config import kube_config

_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: For a kubeconfig that is not there.
WAY_OUT = (
    "Set flower_kubeconfig of this host (or KUBECONFIG in the environment) to the path of one, or flower_auth to the address and credentials of its API server."
)

#: Below this size (bytes) a kubeconfig is simply parsed: 16 KiB take 0.3 ms.
_SCAN_FROM = 16 * 1024


def pick_context(paths: str, context: str | None) -> dict[str, Any]:
    """A kubeconfig with the one wanted context, put together from the files in C(paths).

    The first file that has an entry wins, as in kubectl.
    """
    files = [
        KubeconfigFile(os.path.expanduser(path))
        for path in paths.split(os.pathsep)
        if path and os.path.exists(os.path.expanduser(path))
    ]
    if not files:
        raise AuthError(f"No kubeconfig found at {paths}. {WAY_OUT}")
    wanted = context or next((one for one in (file.current_context() for file in files) if one), None)
    if not wanted:
        raise AuthError(f"kubeconfig {paths} has no current-context: set one with the option 'context'.")
    found = _first(files, "contexts", wanted)
    if found is None:
        raise AuthError(f"kubeconfig {paths} has no context '{wanted}'.{_known(files)}")
    check_entry("context", wanted, found.value)
    names = found.value["context"]
    cluster = _first(files, "clusters", names.get("cluster"))
    if cluster is None:
        raise AuthError(
            f"kubeconfig {paths}: context '{wanted}' refers to the cluster '{names.get('cluster')}', which does not exist."
        )
    check_entry("cluster", names["cluster"], cluster.value)
    user = _first(files, "users", names["user"]) if names.get("user") else None
    if user is not None:
        check_entry("user", names["user"], user.value)
    return {
        "current-context": wanted,
        "contexts": [found],
        "clusters": [cluster],
        "users": [user] if user is not None else [],
    }


def without_empty(paths: str) -> str:
    """Those of several files that have entries; the package's own reader ends at another one."""
    files = [path for path in paths.split(os.pathsep) if path]
    return os.pathsep.join(path for path in files if not os.path.exists(name := os.path.expanduser(path)) or KubeconfigFile(name)._parse())


def _known(files: list[KubeconfigFile]) -> str:
    names = sorted({str(name) for file in files for name in file.names("contexts")})
    if not names:
        return ""
    return " It has: " + ", ".join(names[:8]) + (f" and {len(names) - 8} more." if len(names) > 8 else ".")


def _first(files: list[KubeconfigFile], section: str, name: Any) -> Any:
    for file in files:
        entry = file.entry(section, name)
        if entry is not None:
            return kube_config.ConfigNode(f"{file.path}/{section}[name={name}]", entry, file.path)
    return None


class KubeconfigFile:
    """One kubeconfig file, read as lazily as its form allows.

    A big file in the form that kubectl, oc and every YAML dumper write (top-level keys in the first column, one list
    item per entry) is searched for the entry's text, and only that text is parsed. The YAML parser still decides: what
    it reads must be one item with the right name, else (flow style, anchors across entries, several documents …) the
    whole file is parsed. 1000 contexts, 2 MB: 3 ms instead of 90 ms with libyaml.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as handle:
            self._data = handle.read()
        self._parsed: dict[str, Any] | None = None
        if len(self._data) < _SCAN_FROM:
            self._parse()

    def _parse(self) -> dict[str, Any]:
        if self._parsed is None:
            loaded = _parse(self._data)
            loaded = {} if loaded is None else loaded  # an empty file has no entries
            if not isinstance(loaded, dict):
                raise AuthError(f"{self.path} is not a kubeconfig.")
            self._parsed = loaded
        return self._parsed

    def names(self, section: str) -> list[Any]:
        """Names of all entries of C(section) (contexts, clusters, users); parses the file."""
        return [item.get("name") for item in self._parse().get(section) or [] if isinstance(item, dict)]

    def current_context(self) -> str | None:
        """The file's C(current-context)."""
        if self._parsed is None:
            line = self._line(b"current-context:")
            if line is not None:
                parsed = yaml.load(line, Loader=_YAML_LOADER)
                if isinstance(parsed, dict) and isinstance(parsed.get("current-context"), str):
                    return parsed["current-context"] or None
        return self._parse().get("current-context") or None

    def entry(self, section: str, name: Any) -> dict[str, Any] | None:
        """The entry C(name) of C(section), or None."""
        if self._parsed is None and isinstance(name, str):
            found = self._scan(section.encode(), name)
            if found is not None:
                return found
        matches = [
            item for item in self._parse().get(section) or [] if isinstance(item, dict) and item.get("name") == name
        ]
        if len(matches) > 1:
            raise AuthError(f"{self.path} has more than one entry '{name}' in {section}.")
        return matches[0] if matches else None

    def _line(self, key: bytes) -> bytes | None:
        """The only line that starts with C(key) in the first column, or None."""
        data = self._data
        start = 0 if data.startswith(key) else data.find(b"\n" + key) + 1
        if start == 0 and not data.startswith(key):
            return None
        if data.find(b"\n" + key, start) != -1:
            return None
        end = data.find(b"\n", start)
        return data[start:] if end == -1 else data[start:end]

    def _scan(self, section: bytes, name: str) -> dict[str, Any] | None:
        """Find one entry by its text. None means: not decided here, parse the file."""
        data = self._data
        key = section + b":"
        line = self._line(key)
        if line is None or line.strip() != key:
            return None
        begin = data.find(key + b"\n", 0 if data.startswith(key) else data.find(b"\n" + key)) + len(key) + 1
        dash = data.find(b"- ", begin)
        indent = data[begin:dash]
        if dash == -1 or indent.strip(b" "):
            return None
        item = b"\n" + indent + b"- "
        plain = name.encode()
        for text in (plain, b'"' + plain + b'"', b"'" + plain + b"'"):
            needle = b"name: " + text + b"\n"
            at = data.find(needle, begin)
            while at != -1:
                start = data.rfind(item, begin - 1, at + 1) + 1
                if start == 0:
                    return None
                end = data.find(item, at)
                end = len(data) if end == -1 else end + 1
                chunk = _until_top_level(data[start:end])
                if start + len(chunk) > at:
                    entry = self._only_item(chunk, name)
                    # an entry of C(contexts) has the key C(context), and so on: they are not confused
                    if entry is not None and section.decode()[:-1] in entry:
                        return entry
                at = data.find(needle, at + 1)
        return None

    @staticmethod
    def _only_item(chunk: bytes, name: str) -> dict[str, Any] | None:
        try:
            items = yaml.load(chunk, Loader=_YAML_LOADER)
        except yaml.YAMLError:
            return None
        if isinstance(items, list) and len(items) == 1 and isinstance(items[0], dict) and items[0].get("name") == name:
            return items[0]
        return None


def _parse(data: bytes) -> Any:
    if data.lstrip().startswith(b"{"):
        try:
            return json.loads(data)  # six times as fast, and some tools write JSON
        except ValueError:
            pass
    return yaml.load(data, Loader=_YAML_LOADER)


def _until_top_level(chunk: bytes) -> bytes:
    """End a list item at the next top-level key of the file."""
    position = chunk.find(b"\n")
    while position != -1 and position + 1 < len(chunk):
        if chunk[position + 1 : position + 2] not in (b" ", b"-", b"#", b"\n", b"\r"):
            return chunk[: position + 1]
        position = chunk.find(b"\n", position + 1)
    return chunk
