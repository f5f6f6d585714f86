# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs in a pod with the SuperLink's volume: sets the database aside, and puts it back.

Nothing is deleted before C(drop): the files are renamed within the volume. Each request has the same effect when it is repeated.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
from typing import Any
from urllib.parse import quote

DATABASE = "/data/state.db"
KEPT = DATABASE + ".drill"  # what was set aside
OTHER = DATABASE + ".other"  # what stood in its place when it was put back
BESIDE = ("-wal", "-shm", "-journal", "")  # the last one decides: who has that file has all of them
# Tables of flwr that get a row when something happens that must not be lost.
TABLES = ("run", "node", "task", "fab")


def counts(path: str) -> dict[str, list[int]]:
    """Table -> number of rows, and number of the last one."""
    with contextlib.closing(sqlite3.connect("file:" + quote(path) + "?mode=ro", uri=True, timeout=20)) as database:
        there = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = {}
        for table in TABLES:
            if table in there:
                # The names are those above.
                found[table] = list(database.execute('SELECT count(*), coalesce(max(rowid), 0) FROM "' + table + '"').fetchone())
    return found


def move(old: str, new: str) -> None:
    """Rename the files of a database."""
    for end in BESIDE:
        with contextlib.suppress(FileNotFoundError):
            os.rename(old + end, new + end)
    folder = os.open(os.path.dirname(DATABASE), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def state() -> dict[str, Any]:
    """Which databases there are."""
    return {"there": os.path.exists(DATABASE), "kept": os.path.exists(KEPT)}


def look() -> dict[str, Any]:
    """Which databases there are, and what they have."""
    return {**state(), "counts": counts(DATABASE) if os.path.exists(DATABASE) else {}, "kept_counts": counts(KEPT) if os.path.exists(KEPT) else {}}


def take() -> dict[str, Any]:
    """Set the database aside."""
    if not os.path.exists(KEPT):
        if not os.path.exists(DATABASE):
            return {"fault": "there is no database " + DATABASE}
        move(DATABASE, KEPT)
    return state()


def give() -> dict[str, Any]:
    """Put it back. What stands in its place is renamed, not deleted."""
    other = False
    if os.path.exists(KEPT):
        if os.path.exists(DATABASE):
            other = True
            move(DATABASE, OTHER)
        move(KEPT, DATABASE)
    for end in BESIDE[:-1]:  # of C(take), if it was interrupted
        if os.path.exists(KEPT + end) and not os.path.exists(DATABASE + end):
            os.rename(KEPT + end, DATABASE + end)
    for end in BESIDE:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(DATABASE + ".restore" + end)
    return {**state(), "other": other}


def drop() -> dict[str, Any]:
    """Delete what was set aside, when another one is in its place."""
    if os.path.exists(DATABASE):
        for end in BESIDE:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(KEPT + end)
    return state()


ACTIONS = {"look": look, "take": take, "give": give, "drop": drop}

if __name__ == "__main__":
    asked = json.loads(sys.stdin.buffer.readline())
    print(json.dumps(ACTIONS[asked["action"]]()))
