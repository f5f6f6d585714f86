# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bucket to which the hub uploads outputs of runs, and from which it copies inputs: rclone in a container beside the reader of outputs.

The outputs of the run ID have the keys C(PREFIX/ID/FILE). C(PREFIX/ID/flower-outputs.json) has the run and the SHA-256 of each file. It is written
last, so a run that has it is complete. Nothing is overwritten or deleted: rclone refuses to change an object (C(--immutable)), and the server
one that appears meanwhile (C(If-None-Match)), if it knows that header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import OUTPUTS_ROOT, OUTPUTS_S3, OUTPUTS_S3_PLACE
from ..programs.outputs_program import LONGEST, MOST
from . import in_pod, outputs_table
from .cli import FlowerCLI, FlowerError
from .outputs_list import MANIFEST, Contents, shown
from .outputs_reader import SILENCE, NoOutputs, Reader

PLACE = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(\S.*)")
_SHORT, _LONG = 120.0, 24 * 3600.0  # seconds of a listing, and of a copy
_ABSENT = (3, 4)  # exit codes of rclone: there is no such folder, or no such file
#: API servers before 1.30 cannot close standard input, so its end follows from its length.
_SHELL = 'head -c "$0" | exec rclone "$@"'
_OPTIONS = ("--use-json-log", "--contimeout=5s", "--timeout=60s")
_QUICK = "--low-level-retries=2"  # a server that does not answer is given up after 20 s
_COPY = ("--checksum", "--low-level-retries=3", "--stats=15s", "--stats-log-level=NOTICE")  # which are signs of life
_NEW = ("--immutable", "--header-upload=If-None-Match:*")
_ERRORS = 2  # messages of rclone in one of ours
_NOISE = re.compile(r"https response error StatusCode: \d+, RequestID: [^,]*, HostID: [^,]*, ")


class Bucket:
    """The bucket of one federation. C(place): C(s3://BUCKET/PREFIX)."""

    def __init__(self, reader: Reader, place: str) -> None:
        self.reader = reader
        self.place = place

    @classmethod
    def find(cls, reader: Reader) -> Bucket | None:
        """The bucket of the federation; None if it has none.

        Raises:
            ClusterError: that cannot be read, or its container does not run.
        """
        name = reader.pod()
        pod = reader.cluster.get("v1", "Pod", name, reader.namespace) or {}
        with foreign_data.expect_shape(FlowerError(f"pod {reader.namespace}/{name} on {reader.cluster.name} has another shape")):
            listed = [one for one in (pod.get("spec") or {}).get("containers") or [] if one["name"] == OUTPUTS_S3]
            places = [str(one["value"]) for container in listed for one in container["env"] if one["name"] == OUTPUTS_S3_PLACE]
        if not listed:
            return None
        if not places or not PLACE.fullmatch(places[0]) or foreign_data.CONTROL.search(places[0]):
            raise FlowerError(f"container {OUTPUTS_S3} of pod {reader.namespace}/{name} names no bucket: run federated.flower.site")
        if not in_pod.is_running(pod, OUTPUTS_S3):
            raise FlowerError(
                f"container {OUTPUTS_S3} of pod {reader.namespace}/{name} on {reader.cluster.name}, which uploads outputs, is not "
                "running; federated.flower.status shows the cause"
            )
        return cls(reader, places[0])

    def of_run(self, run_id: str) -> str:
        """Where the outputs of a run are, for people."""
        return f"{self.place}/{run_id}"

    def uploaded(self) -> set[str]:
        """Ids of the runs whose outputs are there completely."""
        words = ("--max-depth=2", f"--include=/*/{MANIFEST}")
        return {path.partition("/")[0] for path in self.files(f"{self.place}/", *words)}

    def files(self, place: str, *options: str) -> dict[str, int]:
        """Path -> bytes of an object, or of all objects below a place. A slash at its end tells rclone that it is not an object.

        Raises:
            ClusterError: they cannot be listed, or are more than a run can have.
        """
        words = ("lsjson", "--recursive", "--files-only", "--no-modtime", "--no-mimetype", *options, _remote(place))
        rc, output = self._rclone(words, accepted=_ABSENT)
        if rc:
            return {}
        with foreign_data.expect_shape(self._strange()):
            found = {str(one["Path"]): int(one["Size"]) for one in foreign_data.read_json(output)}
        if len(found) > MOST or sum(map(len, found)) > LONGEST:
            raise FlowerError(f"{place}: there are more than {MOST} objects, or {LONGEST} characters in their names")
        return found

    def is_file(self, place: str) -> bool:
        """Whether a place is an object. Raises as C(files)."""
        rc, output = self._rclone(("lsjson", "--stat", _remote(place)), accepted=_ABSENT)
        with foreign_data.expect_shape(self._strange()):
            return not rc and foreign_data.read_json(output)["IsDir"] is False

    def manifest(self, run_id: str) -> Any:
        """What was written when the outputs of a run were there; None if nothing was. Raises as C(files)."""
        rc, output = self._rclone(("cat", _remote(f"{self.of_run(run_id)}/{MANIFEST}")), accepted=_ABSENT)
        if rc or not output:
            return None
        with foreign_data.expect_shape(FlowerError(f"{self.of_run(run_id)}/{MANIFEST} is not JSON, so it was written by something else")):
            return foreign_data.read_json(output)

    def upload(self, run_id: str, contents: Contents, manifest: Mapping[str, Any]) -> None:
        """Upload files of a run, then what says that they are there.

        Raises:
            ClusterError: it could not be completed. What was uploaded stays, and is continued the next time.
        """
        place = f"{self.of_run(run_id)}/"
        names = "".join(f"{path}\n" for path in contents.files).encode()
        if contents.files:
            words = ("copy", "--files-from-raw=-", *_NEW, *_COPY, f"{OUTPUTS_ROOT}/{run_id}", _remote(place))
            self._rclone(words, names, seconds=_LONG, silence=SILENCE)
        there = self.files(place)
        if lost := [path for path, size in contents.sizes.items() if there.get(path) != size]:
            raise FlowerError(f"{place}{shown(lost[0])} is missing or has a different size after the upload. Something else writes there, or to the outputs")
        after = self.reader.contents(run_id).files
        if changed := [path for path, one in contents.files.items() if path not in after or after[path][:2] != one[:2]]:
            raise FlowerError(
                f"{shown(changed[0])} of run {run_id} was changed while it was uploaded. Delete {place} in the bucket, and upload the outputs again when "
                "nothing writes to them"
            )
        data = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
        self._rclone(("rcat", f"--size={len(data)}", *_NEW, _remote(f"{place}{MANIFEST}")), data)

    def copy(self, place: str, folder: str) -> None:
        """Copy an object, or those below a place, to a folder on the volume for outputs."""
        self._rclone(("copy", *_COPY, _remote(place), f"{OUTPUTS_ROOT}/{folder}"), seconds=_LONG, silence=SILENCE)

    def rename(self, folder: str, name: str) -> None:
        """Rename a folder on the volume for outputs."""
        self._rclone(("moveto", f"{OUTPUTS_ROOT}/{folder}", f"{OUTPUTS_ROOT}/{name}"))

    def _rclone(
        self, words: Sequence[str], stdin: bytes = b"", *, accepted: Sequence[int] = (), seconds: float = _SHORT, silence: float | None = None
    ) -> tuple[int, bytes]:
        """Run rclone; returns its exit code, 0 or one of those that are accepted, and what it printed.

        Raises:
            ClusterError: it failed, or could not be reached.
        """
        reader = self.reader
        command = ["sh", "-c", _SHELL, str(len(stdin)), *words, *_OPTIONS, *([] if silence else [_QUICK])]
        result = reader.cluster.exec(reader.namespace, reader.pod(), OUTPUTS_S3, command, stdin=stdin, timeout=seconds, silence=silence)
        if result.rc and result.rc not in accepted:
            raise FlowerError(f"{self.place} ({reader.cluster.name}): rclone {words[0]} ended with code {result.rc}: {_errors(result.stderr)}")
        return result.rc, result.stdout

    def _strange(self) -> FlowerError:
        return FlowerError(f"rclone in container {OUTPUTS_S3} on {self.reader.cluster.name} returned an invalid answer; find out who changed the container")


def _remote(place: str) -> str:
    return f"s3:{place.removeprefix('s3://')}"


def _errors(stderr: bytes) -> str:
    """The last messages of rclone about errors, each once; its summary only if there is no other."""
    found, summary = {}, {}
    for line in stderr.decode("utf-8", "replace").splitlines():
        try:
            one = foreign_data.read_json(line)
            words = f"{one['object']}: {one['msg']}" if one.get("object") else str(one["msg"])
            if str(one.get("source")).startswith("cmd/"):
                summary[words] = True
            elif one["level"] != "notice":
                found[words] = True
        except foreign_data.FAULTS:  # of the shell, or of another image
            found[line] = True
    return "; ".join(foreign_data.cleaned(_NOISE.sub("", one), 500) for one in list(found or summary)[-_ERRORS:]) or "no error output"


def waiting(listed: Sequence[Mapping[str, Any]], uploaded: set[str]) -> list[str]:
    """Ids of the runs whose outputs can be uploaded and are not: finished ones, of entries of C(outputs_table)."""
    return [
        one["run_id"]
        for one in listed
        if one["run_id"] not in uploaded and not one["active"] and (one["status"] != outputs_table.UNKNOWN or outputs_table.LIKELY.fullmatch(one["run_id"]))
    ]


def facts(cli: FlowerCLI, known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The bucket as a status reports it; empty where there is none. C(known): the runs of the SuperLink, entries of C(run_table)."""
    reader = Reader(cli)
    try:
        reader.pod(seconds=0)
        if (bucket := Bucket.find(reader)) is None:
            return {}
        _room, stored, _inputs = reader.list()
        return {"bucket": bucket.place, "not_uploaded": waiting(outputs_table.entries(stored, known), bucket.uploaded()), "bucket_error": ""}
    except NoOutputs:
        return {}
    except ClusterError as error:
        return {"bucket": "", "not_uploaded": [], "bucket_error": error.message}
