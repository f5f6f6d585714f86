# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inputs of a run that are in object storage, which the hub copies to the volume for outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..base.formats import counted, readable
from ..base.plain_data import digest
from ..programs.outputs_program import INPUTS
from .bucket import PLACE, Bucket
from .cli import FlowerError
from .outputs_list import File, TooFull, shown, unfit
from .outputs_reader import MAKE_ROOM, Reader


@dataclass
class BucketInputs:
    """Inputs of a run in object storage: an object, or all below a place.

    Attributes:
        given: what the user named, C(s3://BUCKET/KEY).
        files: path -> file, once they were copied; without SHA-256 before that.
        name: SHA-256 of the list of the files, once they were copied.
        is_file: whether it is an object.
    """

    given: str
    files: dict[str, File] = field(default_factory=dict)
    name: str = ""
    is_file: bool = False

    @classmethod
    def parse(cls, text: str) -> BucketInputs:
        """Read what the user named.

        Raises:
            FlowerError: it does not name a place in a bucket.
        """
        match = PLACE.fullmatch(text)
        if not match or unfit(match[2].rstrip("/")) or any(part in ("", ".", "..") for part in match[2].rstrip("/").split("/")):
            raise FlowerError(f"inputs: {shown(text)!r} is not s3://BUCKET/KEY, the place of an object or of a folder")
        return cls(text.rstrip("/"))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(one.size for one in self.files.values())

    @property
    def place(self) -> str:
        """Where apps find them, below C(FLOWER_OUTPUTS_DIR); where they are in object storage before they were copied."""
        return f"{INPUTS}/{self.name}{f'/{next(iter(self.files))}' if self.is_file else ''}" if self.name else self.given

    def find(self, reader: Reader, floor: str) -> Bucket:
        """See that they are there, and that there is room for them.

        Raises:
            ClusterError: a run cannot begin with them. Nothing is submitted then.
        """
        bucket = Bucket.find(reader)
        if bucket is None:
            raise FlowerError(
                f"inputs: {self.given} is in object storage, which the federation in namespace {reader.namespace} of {reader.cluster.name} does not use: "
                "set superlink_outputs_s3 and run federated.flower.site"
            )
        self.is_file = bucket.is_file(self.given)
        sizes = bucket.files(self.given)
        if not sizes:
            raise FlowerError(f"nothing was submitted: there is no object {self.given}, and none below it (inputs)")
        if wrong := next(((path, why) for path in sizes if (why := unfit(path))), None):
            raise FlowerError(f"nothing was submitted: inputs: {self.given}/{shown(wrong[0])} cannot be copied: {wrong[1]}")
        self.files = {path: File(size, 0, "") for path, size in sizes.items()}
        room = reader.room().with_floor(floor)
        if room.free - self.size < room.floor:
            raise TooFull(
                f"nothing was submitted, because the volume for outputs on {reader.cluster.name} has too little free space for the inputs {self.given}: "
                f"{readable(self.size)}, {room}, and {readable(room.floor)} stay free (superlink_outputs_min_free). {MAKE_ROOM}"
            )
        return bucket

    def copy(self, reader: Reader, floor: str, say: Callable[[str], None], keeps: Mapping[str, str]) -> None:
        """Copy them to the volume for outputs, where their folder gets the name that follows from their content.

        Args:
            keeps: part of requests: the run whose outputs are handed over with them.

        Raises:
            ClusterError: they could not be copied. Nothing is submitted then.
        """
        bucket = self.find(reader, floor)
        say(f"inputs {self.given}: {counted(len(self.files), 'file')}, {readable(self.size)}, are copied to {reader.cluster.name}")
        first = hashlib.sha256(self.given.encode()).hexdigest()
        reader.delete([], [first])  # of an attempt that ended before
        bucket.copy(self.given, f"{INPUTS}/{_part(first)}")
        contents = reader.inputs(first, self.size, lambda: None, keeps)
        if contents.left_out or contents.sizes != {path: one.size for path, one in self.files.items()}:
            reader.delete([], [first])
            raise FlowerError(f"nothing was submitted: {self.given} was changed while it was copied; run this again")
        self.files = contents.files
        self.name = digest(contents.listed)
        there = reader.inputs(self.name, self.size, lambda: None, keeps)
        if there.whole and there.listed == contents.listed and not there.left_out:
            reader.delete([], [first])
        else:
            reader.delete([], [self.name])
            bucket.rename(f"{INPUTS}/{_part(first)}", f"{INPUTS}/{_part(self.name)}")
        reader.ask({"do": "finish", "inputs": [self.name], **keeps})


def _part(name: str) -> str:
    """The folder of inputs that have no name yet."""
    return f".{name}.part"
