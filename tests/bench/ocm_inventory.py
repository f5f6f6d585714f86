# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""How long does Ansible take to read N ManagedClusters with federated.flower.ocm? See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.managed_clusters import Question, ask
from ansible_collections.federated.flower.tests.integration import ocm_hub

SELECTOR = f"{ocm_hub.MARK}=true"
# What the file of inventories/example-ocm makes of labels.
EXPRESSIONS = {
    "compose": {"flower_region": "ocm_labels.region | default('')"},
    "keyed_groups": [
        {"key": "flower_region", "prefix": "region"},
        {"key": "ocm_labels.gpu | default('')", "prefix": "gpu"},
    ],
    "groups": {"unreachable": "not ocm_available"},
}
CACHE = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": "cache"}
READINGS: dict[str, dict[str, Any]] = {
    "hosts": {},
    "hosts, 4 expressions": EXPRESSIONS,
    "from the cache": CACHE,
    "from the cache, 4 expressions": {**CACHE, **EXPRESSIONS},
}


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds and CPU seconds of a command."""
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def measure(auth: dict[str, Any], count: int, repeat: int, folder: Path) -> list[dict[str, Any]]:
    """Rows of the table for one number of clusters, which are on the hub already."""
    rows = []
    with connect(auth) as hub:
        asked = []
        for _time in range(repeat):
            start, before = time.monotonic(), hub.requests
            found = len(ask(hub, Question(label_selector=SELECTOR))["clusters"])
            asked.append(time.monotonic() - start)
            if found != count:
                raise SystemExit(f"{found} clusters instead of {count}")
        rows.append(
            {"what": f"the hub's answer ({hub.requests - before} requests)", "seconds": statistics.median(asked)}
        )
    inventory = str(Path(sys.executable).parent / "ansible-inventory")
    none = [timed([inventory, "-i", "localhost,", "--graph"], folder) for _time in range(repeat)]
    rows.append(_row("ansible-inventory without hosts", none))
    for what, options in READINGS.items():
        config = {"plugin": "federated.flower.ocm", **auth, "label_selector": SELECTOR, **options}
        (folder / "fleet.ocm.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        command = [inventory, "-i", "fleet.ocm.yml", "--graph"]
        if "cache" in options:
            timed([*command, "--flush-cache"], folder)
        rows.append(_row(what, [timed(command, folder) for _time in range(repeat)]))
    return [{"clusters": count, **row} for row in rows]


def _row(what: str, runs: list[tuple[float, float]]) -> dict[str, Any]:
    wall, cpu = zip(*runs)
    return {"what": what, "seconds": statistics.median(wall), "cpu_seconds": statistics.median(cpu)}


def main() -> None:
    """Make clusters, measure, print the table, write the JSON, remove the clusters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", default=os.environ.get("FLOWER_FLEET_KUBECONFIG"), required=False)
    parser.add_argument("--context", help="whose API server plays the hub (default: the last one)")
    parser.add_argument("--clusters", default="10,100,1000", help="numbers of clusters (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs; the median counts (default: %(default)s)")
    arguments = parser.parse_args()
    if not arguments.kubeconfig:
        raise SystemExit("give --kubeconfig, or set FLOWER_FLEET_KUBECONFIG")
    names = [one["name"] for one in yaml.safe_load(Path(arguments.kubeconfig).read_text(encoding="utf-8"))["contexts"]]
    auth = {"kubeconfig": arguments.kubeconfig, "context": arguments.context or sorted(names)[-1]}
    os.environ["ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"] = "true"
    rows: list[dict[str, Any]] = []
    with connect(auth) as hub, tempfile.TemporaryDirectory(prefix="flower-bench-") as folder:
        made = ocm_hub.install(hub)
        try:
            ocm_hub.remove(hub, [])
            there = 0
            for count in sorted(int(text) for text in arguments.clusters.split(",")):
                ocm_hub.put_all(auth, ocm_hub.fleet(count - there, there))
                there = count
                for row in measure(auth, count, arguments.repeat, Path(folder)):
                    rows.append(row)
                    cpu = f"{row['cpu_seconds']:7.2f}" if "cpu_seconds" in row else " " * 7
                    print(f"{row['clusters']:>8}  {row['what']:<34}  {row['seconds']:7.2f} s  {cpu} CPU s", flush=True)
        finally:
            ocm_hub.remove(hub, made)
    target = Path(os.environ.get("FLOWER_BUILD", "build")) / "bench-ocm-inventory.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {target}")


if __name__ == "__main__":
    main()
