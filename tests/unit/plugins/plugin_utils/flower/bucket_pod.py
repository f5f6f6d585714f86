# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container with rclone beside the reader of outputs: what the commands of C(flower/bucket) do, with a folder for the bucket.

The scenario has the real rclone and a real S3 server.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.kube.streams import ExecResult
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.outputs_pod import Hub

PLACE = "s3://models/trial"
MANIFEST = "flower-outputs.json"


class BucketHub(Hub):
    """A hub with object storage. C(fails): command of rclone -> what it says instead of working. C(before): called before each command."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.store = root.parent / "store"
        self.place = PLACE
        self.runs_rclone = True
        self.fails: dict[str, str] = {}
        self.before: Callable[[str], None] = lambda _command: None
        self.commands: list[list[str]] = []

    @property
    def containers(self) -> list[dict[str, object]]:
        """Of the pod with the reader."""
        env = [{"name": "FLOWER_OUTPUTS_S3", "value": self.place}, {"name": "X", "valueFrom": {}}]
        return [{"name": "outputs", "env": []}, *([{"name": "outputs-s3", "env": env}] if self.place else [])]

    def exec(self, namespace, pod, container, command, *, stdin, timeout, on_stdout=None, silence=None):
        """See C(Cluster.exec)."""
        if container != "outputs-s3":
            more = {"stdin": stdin, "timeout": timeout, "on_stdout": on_stdout, "silence": silence}
            return super().exec(namespace, pod, container, command, **more)
        shell, _option, _code, size, verb, *words = command
        assert shell == "sh" and int(size) == len(stdin or b"")
        self.commands.append([verb, *words])
        self.before(verb)
        if verb in self.fails:
            said = [{"level": "notice", "msg": "stats"}, {"level": "error", "msg": self.fails[verb], "object": "model"}]
            return ExecResult(b"", "\n".join(map(json.dumps, said)).encode() + b"\nnot JSON\x1b[31m\n", 1)
        return self._rclone(verb, {one for one in words if one.startswith("--")}, [one for one in words if not one.startswith("--")], stdin)

    def local(self, place: str) -> Path:
        """Where a place of rclone is here."""
        return self.store / place.removeprefix("s3:") if place.startswith("s3:") else self.root / place.removeprefix("/outputs/")

    def _rclone(self, verb: str, options: set[str], places: list[str], stdin: bytes) -> ExecResult:
        first = self.local(places[0])
        if verb == "rcat":
            assert "--immutable" in options and "--header-upload=If-None-Match:*" in options and not first.exists()
            first.parent.mkdir(parents=True, exist_ok=True)
            first.write_bytes(stdin)
        elif not first.exists():
            return ExecResult(b"", b"", 3)
        elif verb == "cat":
            return ExecResult(first.read_bytes(), b"", 0)
        elif verb == "lsjson":
            return ExecResult(json.dumps(self._listed(first, options)).encode(), b"", 0)
        elif verb == "moveto":
            assert not self.local(places[1]).exists()
            first.rename(self.local(places[1]))
        else:
            return self._copy(first, self.local(places[1]), options, stdin)
        return ExecResult(b"", b"", 0)

    @staticmethod
    def _listed(place: Path, options: set[str]) -> object:
        if "--stat" in options:
            return {"IsDir": place.is_dir()}
        found = [place] if place.is_file() else sorted(one for one in place.rglob("*") if one.is_file())
        if "--max-depth=2" in options:
            assert f"--include=/*/{MANIFEST}" in options
            found = [one for one in found if one.name == MANIFEST and one.parent.parent == place]
        home = place.parent if place.is_file() else place
        return [{"Path": str(one.relative_to(home)), "Size": one.stat().st_size, "IsDir": False} for one in found]

    @staticmethod
    def _copy(source: Path, target: Path, options: set[str], stdin: bytes) -> ExecResult:
        names = stdin.decode().splitlines() if "--files-from-raw=-" in options else None
        if source.is_file():
            source, names = source.parent, [source.name]
        for one in names if names is not None else [str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()]:
            wanted = target / one
            if wanted.exists() and "--immutable" in options:
                if wanted.read_bytes() == (source / one).read_bytes():
                    continue
                return ExecResult(b"", json.dumps({"level": "error", "msg": "immutable file modified", "object": one}).encode(), 1)
            wanted.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / one, wanted)
            os.chmod(wanted, 0o644)
        return ExecResult(b"", b"", 0)
