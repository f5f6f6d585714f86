# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SuperLink's database is set aside after a backup, and that of the backup is put in its place.

The SuperLink is stopped before. The files are renamed within the volume, and not deleted until the SuperLink runs with the other database and has the
same runs and SuperNodes. What C(undo) does depends on C(phase):

  C(stopping)  the database may be there or set aside: it is put back.
  C(restored)  the backup's is in its place, and the SuperLink may have written to it: it stays.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ...backup import archive_reader, database, hub_archive, making
from ...backup.volume_pod import POD as HOLDER
from ...backup.volume_pod import Holder
from ...base.errors import ClusterError
from ...base.object_names import DATABASE_CLAIM, SUPERLINK
from ...marks import proof
from ...programs import database_aside_program as database_program
from ...standby import fencing
from ..bench import PAUSE
from ..drill_verdict import Measured
from .base_break import Break

STOPPING, RESTORED = "stopping", "restored"


class DatabaseLost(Break):
    """See C(Break)."""

    is_quick = False

    def faults(self) -> list[str]:
        """A folder for the backup, who can open it, and the key that does; and no one who starts the SuperLink while its database is set aside."""
        options = self._bench.options
        if options.directory is None or not options.recipients or options.identity is None:
            return [
                f"{self.place}: database_lost makes a backup and opens it. Set flower_backup_directory, flower_backup_recipients and "
                "flower_backup_identity"
            ]
        return [*filter(None, [fencing.restarter(self._bench.hub, self._bench.namespace, self._workload())])]

    def facts(self) -> dict[str, Any]:
        """How far it is."""
        return {"phase": STOPPING}

    def conduct(self) -> Measured:
        """Back up, stop, set aside, restore, start, compare."""
        bench, options = self._bench, self._bench.options
        if options.directory is None:
            raise ClusterError("; ".join(self.faults()))
        nodes = bench.expected()
        before = bench.ask(database_program, {"action": "look"})["counts"]
        head = making.about(bench.hub, bench.namespace, bench.federation)
        path, _count, size, _keys = making.write(
            bench.hub, bench.namespace, bench.ca_namespace, head, making.folder_of(str(options.directory)), list(options.recipients)
        )
        content = hub_archive.proven(path, options.identity).content
        bench.run.say(f"{bench.hub.name}: wrote {path}; now the SuperLink is stopped and its database is set aside")
        begun = time.monotonic()
        self._stop()
        with Holder(bench.hub, bench.spec, options.wait) as volume:
            # A run that was submitted after the backup is not lost: the database is put back.
            if self._ask("look")["counts"] != before:
                raise ClusterError(f"{bench.hub.name}: the SuperLink was used after the backup. Nothing was lost. Run again")
            bench.go_on()
            self._ask("take")
            bench.run.note(words=[f"drill: the SuperLink's database was set aside, and is restored from {path}"])
            self._restore(volume, content, path)
            bench.go_on()
            bench.store.add({"phase": RESTORED})
        self._start()
        since = bench.until_superlink()
        again = time.monotonic() - begun
        seconds, missing = bench.until_back(nodes, since, begun)
        after = bench.ask(database_program, {"action": "look"})["counts"]
        if _is_less(after, before):
            raise ClusterError(
                f"{bench.hub.name}: the restored database lacks rows: {after} instead of {before}. The one before is kept as "
                f"{database_program.KEPT} on the SuperLink's volume"
            )
        note = f"backup {path.name} ({size} bytes of database); the SuperLink ran again after {again:.0f} s"
        return Measured(len(nodes), len(nodes), seconds, note, missing)

    def undo(self, facts: Mapping[str, Any]) -> list[str]:
        """See above."""
        bench = self._bench
        live = bench.hub.get("apps/v1", "StatefulSet", SUPERLINK, bench.namespace)
        stopped = live is None or live["spec"].get("replicas") == 0
        if facts.get("phase") == RESTORED:
            if live is None:
                return []
            if stopped:
                self._start()
            bench.until_superlink()
            known = bench.ask(database_program, {"action": "look"})
            if known["kept"] and not _is_less(known["counts"], known["kept_counts"]):
                bench.ask(database_program, {"action": "drop"})
            return ["the SuperLink runs with the database of the backup"] if stopped else []
        # Without a StatefulSet, site.yml is about to deploy a hub, perhaps a restored one with the mark of then.
        if not stopped or (live is None and bench.hub.get("v1", "PersistentVolumeClaim", DATABASE_CLAIM, bench.namespace) is None):
            return []
        self._await_stopped()
        with Holder(bench.hub, bench.spec, bench.options.wait):
            answer = self._ask("give")
        if not answer["there"]:
            raise ClusterError(f"{bench.hub.name}: the SuperLink's volume has no database; restore it from a backup")
        if live is not None:
            self._start()
            bench.until_superlink()
        other = f"; another one, which stood in its place, is {database_program.OTHER}" if answer.get("other") else ""
        return [f"the SuperLink has its own database again{other}"]

    def _restore(self, volume: database.Volume, content: Mapping[str, Any], path: Path) -> None:
        def take(name: str, size: int, data: BinaryIO) -> None:
            if name == hub_archive.DATABASE:
                database.put(volume, content["database"], data)

        archive_reader.read(path, take, self._bench.options.identity)

    def _ask(self, action: str) -> dict[str, Any]:
        return self._bench.ask(database_program, {"action": action}, pod=HOLDER)

    def _workload(self) -> dict[str, Any]:
        bench = self._bench
        live = bench.hub.get("apps/v1", "StatefulSet", SUPERLINK, bench.namespace)
        if live is None or not proof.belongs(live, bench.federation):
            raise ClusterError(
                f"{bench.hub.name}: StatefulSet {bench.namespace}/{SUPERLINK} is not there, or is not of this federation: run federated.flower.site"
            )
        return live

    def _scale(self, replicas: int) -> None:
        self._workload()
        self._bench.hub.patch("apps/v1", "StatefulSet", SUPERLINK, self._bench.namespace, {"spec": {"replicas": replicas}})

    def _stop(self) -> None:
        self._scale(0)
        self._await_stopped()

    def _start(self) -> None:
        self._scale(1)

    def _await_stopped(self) -> None:
        deadline = time.monotonic() + self._bench.options.wait
        while self._bench.superlink() is not None:
            self._bench.go_on()
            if time.monotonic() >= deadline:
                raise ClusterError(
                    f"{self._bench.hub.name}: the SuperLink's pod is still there {self._bench.options.wait} s after it was stopped: does its node answer?"
                )
            time.sleep(PAUSE / 2)


def _is_less(counts: Mapping[str, list[int]], before: Mapping[str, list[int]]) -> bool:
    """Whether a database lacks rows that another one has."""
    return any(counts.get(table, [0, 0]) < rows for table, rows in before.items())
