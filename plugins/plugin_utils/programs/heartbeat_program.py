# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container: reads from its database when SuperNodes were heard of.

The command line of Flower does not show it. Only columns that flwr 1.40 to 1.42 have are read, and nothing is written.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import time

DATABASE = "file:/data/state.db?mode=ro"
_QUERY = "SELECT node_id, last_activated_at, online_until, heartbeat_interval FROM node"


def main() -> None:
    """Serve one request, print its answer."""
    json.loads(sys.stdin.buffer.readline())
    with contextlib.closing(sqlite3.connect(DATABASE, uri=True, timeout=20)) as database:
        rows = database.execute(_QUERY).fetchall()
    # SQLite has no unsigned numbers.
    nodes = [
        {"id": str(node % 2**64), "activated": activated, "until": until, "interval": interval}
        for node, activated, until, interval in rows
    ]
    print(json.dumps({"now": time.time(), "nodes": nodes}))


if __name__ == "__main__":
    main()
