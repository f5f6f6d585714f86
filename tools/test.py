# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""test.py test|nightly|check: run the gates of a suite, phase after phase; `make test`, `make nightly` and `make check` call it.

Every phase runs even if one before it failed, except what needs a fleet that did not start. The fleet is stopped at the end,
also after a failure or an interrupt. With FLOWER_FLEET_KUBECONFIG (own clusters) none is started, with FLOWER_KEEP_FLEET=1 it
keeps running. In `check`, a gate is left out if none of its files has changed since it passed (changed.py).
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

from changed import Passed
from together import exit_on_signals, together

# Targets of the Makefile, those of a line at the same time: what waits together with what computes. The last one of a line prints as
# it runs.
SUITES = {
    "test": ["lint unit fleet-core", "playbooks sanity published molecule core", "fleet-down"],
    "nightly": ["lowest examples vision events metrics gateway page archive fleet-up", "fleet-tests", "scenarios", "fleet-lifecycle", "fleet-down"],
    "check": ["lint unit playbooks published lowest examples events metrics gateway page sanity"],
}
STARTS_FLEET = {"fleet-up", "fleet-core"}
ON_THE_FLEET = {"core", "fleet-tests", "scenarios", "molecule", "fleet-lifecycle"}
# Gates whose test files can be run one at a time by `make scenario`.
SCENARIOS = {"core", "scenarios"}
SLOWEST = 10
# Files of gates: beginnings of paths. All files are those of the gates that are not named.
INPUTS = {
    "examples": ["examples/", "tests/examples/", "plugins/module_utils/", "plugins/plugin_utils/", "requirements/"],
    "published": ["examples/", "tests/examples/", "tests/integration/scenarios/published_app.py", "plugins/plugin_utils/", "requirements/"],
    "events": ["extensions/", "tests/events/", "galaxy.yml", "meta/", "plugins/plugin_utils/fleet/", "requirements/"],
    "lowest": ["plugins/module_utils/", "plugins/plugin_utils/", "tests/unit/plugins/plugin_utils/", "requirements/"],
    "metrics": [
        "tests/metrics/", "roles/superlink/files/metrics/", "docs/docsite/rst/guide_metrics.rst", "plugins/plugin_utils/base/",
        "plugins/plugin_utils/manifests/",
    ],
    "gateway": ["tests/gateway/", "plugins/plugin_utils/manifests/", "plugins/plugin_utils/spec/", "roles/superlink/meta/"],
    "page": ["tests/page/", "tests/unit/plugins/plugin_utils/fleet/", "plugins/plugin_utils/fleet/"],
}  # fmt: skip

Report = list[tuple[str, bool, float]]


def run(targets: list[str], report: Report) -> bool:
    """Run targets of the Makefile at the same time and record their results."""
    title = " + ".join(targets)
    print(f"\n=== {title} " + "=" * (74 - len(title)), flush=True)
    passed = {target: Passed(target, INPUTS[target]) for target in targets if target in INPUTS}
    ended = together([["make", "--no-print-directory", target] for target in targets])
    for target, (ok, seconds) in zip(targets, ended, strict=True):
        report.append((target, ok, seconds))
        print(f"=== {target}: {'ok' if ok else 'FAILED'} after {seconds:.0f} s", flush=True)
        if ok and target in passed:
            passed[target].note()
    return all(ok for ok, _seconds in ended)


def unchanged(targets: list[str]) -> list[str]:
    """Those of whose files none has changed since they passed."""
    return [target for target in targets if target in INPUTS and Passed(target, INPUTS[target]).changed() == []]


def slowest(folder: Path) -> list[tuple[float, str]]:
    """Seconds and names of the slowest tests, from the reports that pytest wrote into a folder."""
    found = []
    for path in folder.glob("*.xml"):
        for case in ElementTree.parse(path).iter("testcase"):
            found.append((float(case.get("time", 0)), f"{path.stem}: {case.get('classname')}::{case.get('name')}"))
    return sorted(found, reverse=True)[:SLOWEST]


def failures(folder: Path, report: Report) -> list[str]:
    """For each gate that failed: the tests that failed in it, and how to run them alone."""
    lines = []
    for gate in [gate for gate, ok, _seconds in report if not ok]:
        files: dict[str, list[str]] = {}
        for path in folder.glob(f"{gate}.xml"):
            for case in ElementTree.parse(path).iter("testcase"):
                faults = [*case.iter("failure"), *case.iter("error")]
                if faults:
                    files.setdefault((case.get("classname") or "").replace(".", "/"), []).append(case.get("name") or "")
        for file, tests in files.items():
            name = file.rpartition("integration/")[2].removeprefix("scenarios/")
            alone = f"make scenario NAME={name}" if gate in SCENARIOS else f"make {gate}"
            lines += [f"{file}.py: {', '.join(tests)}", f"    run it alone: {alone}"]
        if not files:
            lines.append(f"{gate}: see above; run it alone: make {gate}")
    return lines


def main(suite: str) -> int:
    """Exit status: 0 if every phase passed."""
    exit_on_signals()
    begun = time.monotonic()
    own_clusters = bool(os.environ.get("FLOWER_FLEET_KUBECONFIG"))
    keep = own_clusters or os.environ.get("FLOWER_KEEP_FLEET") == "1"
    left_out = {"fleet-down"} | (STARTS_FLEET if own_clusters else set()) | ({"fleet-lifecycle"} if keep else set())
    times = Path(os.environ["FLOWER_BUILD"]) / "times"
    shutil.rmtree(times, ignore_errors=True)
    report: Report = []
    fleet, started, interrupted = own_clusters, False, True
    try:
        for phase in SUITES[suite]:
            targets = [target for target in phase.split() if target not in left_out]
            for target in unchanged(targets) if suite == "check" else []:
                print(f"=== {target}: none of its files has changed since it passed", flush=True)
                targets.remove(target)
            for target in [] if fleet else sorted(ON_THE_FLEET.intersection(targets)):
                print(f"\n=== {target}: FAILED, there is no fleet", flush=True)
                report.append((target, False, 0.0))
                targets.remove(target)
            started = started or bool(STARTS_FLEET.intersection(targets))
            if targets:
                run(targets, report)
            fleet = fleet or any(ok for target, ok, _seconds in report if target in STARTS_FLEET)
        interrupted = False
    finally:
        if started and not keep:
            run(["fleet-down"], report)
        print(f"\nThe slowest {SLOWEST} tests:")
        for seconds, test in slowest(times):
            print(f"{seconds:8.1f} s  {test}")
        print()
        for phase, ok, seconds in report:
            print(f"{phase:15} {'ok' if ok else 'FAILED':7} {seconds:6.0f} s")
        for path in sorted(times.glob("*-unsteady.txt")):
            print(f"passed at the second try only, look into it:\n{path.read_text(encoding='utf-8')}", end="")
        for line in failures(times, report):
            print(line)
        failed = sum(not ok for _phase, ok, _seconds in report)
        print(f"gates: {len(report) - failed} passed, {failed} failed, {time.monotonic() - begun:.0f} s{', interrupted' * interrupted}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SUITES:
        sys.exit(f"usage: test.py {'|'.join(SUITES)}")
    sys.exit(main(sys.argv[1]))
