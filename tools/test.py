# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The whole of the gates, one after the other; `make test` calls it.

Every phase runs even if one before it failed, except those that need a fleet that did not start. The fleet is stopped
at the end, also after a failure or an interrupt. With FLOWER_FLEET_KUBECONFIG (own clusters) none is started, with
FLOWER_KEEP_FLEET=1 it is left running.
"""

from __future__ import annotations

import os
import signal
import sys

from together import together

# Targets of the Makefile, those of a line at the same time.
PHASES = ["lint", "unit sanity", "fleet-up", "integration", "molecule", "fleet-lifecycle", "fleet-down"]


def run(phase: str, report: list[tuple[str, bool, float]]) -> bool:
    """Run targets of the Makefile and note how they ended."""
    print(f"\n=== {phase} " + "=" * (74 - len(phase)), flush=True)
    ended = together([["make", "--no-print-directory", target] for target in phase.split()])
    for target, (ok, seconds) in zip(phase.split(), ended, strict=True):
        report.append((target, ok, seconds))
        print(f"=== {target}: {'ok' if ok else 'FAILED'} after {seconds:.0f} s", flush=True)
    return all(ok for ok, _seconds in ended)


def main(phases: list[str]) -> int:
    """Exit status: 0 if every phase passed."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, frame: sys.exit(128 + number))
    own_clusters = bool(os.environ.get("FLOWER_FLEET_KUBECONFIG"))
    keep = own_clusters or os.environ.get("FLOWER_KEEP_FLEET") == "1"
    report: list[tuple[str, bool, float]] = []
    fleet = own_clusters
    started = False
    try:
        for phase in phases:
            if phase == "fleet-down" or (phase == "fleet-up" and own_clusters) or (phase == "fleet-lifecycle" and keep):
                continue
            if phase in ("integration", "molecule", "fleet-lifecycle") and not fleet:
                print(f"\n=== {phase}: FAILED, there is no fleet", flush=True)
                report.append((phase, False, 0.0))
                continue
            started = started or phase == "fleet-up"
            ok = run(phase, report)
            fleet = fleet or (phase == "fleet-up" and ok)
    finally:
        if started and not keep:
            run("fleet-down", report)
        print()
        for phase, ok, seconds in report:
            print(f"{phase:12} {'ok' if ok else 'FAILED':7} {seconds:6.0f} s")
        failed = sum(not ok for _phase, ok, _seconds in report)
        print(f"gates: {len(report) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PHASES))
