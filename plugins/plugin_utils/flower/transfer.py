# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What both directions of a transfer between the control node and the hub share: attempts, words about the progress, hashes of local files."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from ..base.errors import ClusterError
from ..kube.api_errors import AuthError, Forbidden, Unauthorized, Unreachable
from .cli import FlowerError
from .outputs_reader import Reader

#: Seconds between attempts that brought nothing; after the last of them it is given up.
PAUSES = (1, 2, 5, 10, 20)
_DEADLINE = 24 * 3600.0  # seconds of all attempts together, also if each of them brings something
STEADY = 10.0  # seconds between two words about the progress
_CHUNK = 1024 * 1024


class Attempts:
    """Attempts of a transfer, which go on for as long as they bring something.

    Args:
        doing: what is continued, for people.

    Attributes:
        left: bytes that are missing; each attempt says that at its begin.
    """

    def __init__(self, reader: Reader, say: Callable[[str], None], doing: str) -> None:
        self.reader = reader
        self.say = say
        self.doing = doing
        self.left: float = math.inf

    def run(self, attempt: Callable[[], bool]) -> str:
        """Call a function until it says that everything is there.

        Returns:
            Why that was given up: a sentence, after several attempts in a row that brought nothing, or a day; empty if everything is there.

        Raises:
            ClusterError: of a kind that no attempt will change.
        """
        least, in_vain, where = math.inf, 0, self.reader.cluster.name
        deadline = time.monotonic() + _DEADLINE
        while True:
            trouble: ClusterError = Unreachable(f"{where}: a part was lost in transit.")
            try:
                if attempt():
                    return ""
            except (Forbidden, Unauthorized, AuthError, FlowerError):
                raise
            except ClusterError as error:
                trouble = error
                self.reader.forget_pod()
            least, in_vain = (self.left, 0) if self.left < least else (least, in_vain + 1)
            if in_vain >= len(PAUSES) or time.monotonic() > deadline:
                return f"{trouble.message.rstrip('.')}."
            self.say(f"{where}: {self.doing} is continued, because {trouble.message}")
            time.sleep(PAUSES[in_vain])


class Steady:
    """Words about the progress at a steady pace. C(say) shows them, C(about) begins each line."""

    def __init__(self, say: Callable[[str], None], about: str) -> None:
        self.say = say
        self.about = about
        self.begun = self._shown_at = time.monotonic()

    def __call__(self, words: str) -> None:
        """Show where it is, or nothing if that was shown a moment ago. C({since}) in it becomes the seconds since the begin."""
        if (now := time.monotonic()) >= self._shown_at + STEADY:
            self._shown_at = now
            self.say(f"{self.about}: {words.replace('{since}', f'{now - self.begun:.0f} s')}")


def sha256(path: Path, on_chunk: Callable[[], None] = lambda: None, *, sync: bool = False) -> str:
    """SHA-256 of a file. C(on_chunk) is called now and then; C(sync) waits until the file is on the disk.

    Raises:
        OSError: it cannot be read.
    """
    found = hashlib.sha256()
    with open(path, "rb") as stream:
        if sync:
            os.fsync(stream.fileno())
        while data := stream.read(_CHUNK):
            found.update(data)
            on_chunk()
    return found.hexdigest()
