# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""One run of ansible-playbook against an API server: time, memory and requests, and the table that tells them."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config

_RECAP = re.compile(r"^\S+\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.M)
_SETTLE = 3.0  # seconds over which the requests of others are counted before a run
_SETTLE_LIMIT = 180.0  # seconds to wait at most until there are few of them
_QUIET = 10.0  # requests per second of others at which a run begins
_SAMPLE = 0.5  # seconds between two looks at the memory


# ---- measuring -------------------------------------------------------------------------------------------------------


@dataclass
class Measure:
    """One run of ansible-playbook. Seconds, megabytes (10^6 bytes)."""

    method: str
    clusters: int
    run: str  # "first" or "no change"
    seconds: float
    requests: float  # of the API server's own count, without watches, minus what it gets when nothing runs
    cpu_seconds: float  # ansible-playbook and all its children, user + system
    server_cpu_seconds: float  # the API server
    rss_largest_mb: float  # peak resident set of the largest single process
    pss_sum_mb: float  # peak of the sum over all processes, shared pages counted once (sampled)
    changed: int  # hosts
    failed: int  # hosts
    ratio: float | None = None  # seconds of the base method / seconds, same run and same clusters


class ApiServer:
    """Counters of the API server."""

    def __init__(self, kubeconfig: str, context: str) -> None:
        self.client = config.new_client_from_config(kubeconfig, context)
        self.core = client.CoreV1Api(self.client)
        self.idle = 0.0

    def counters(self) -> tuple[float, float]:
        """(requests without watches, CPU seconds) since its start."""
        host = self.client.configuration.host
        response = self.client.rest_client.pool_manager.request(
            "GET", f"{host}/metrics", headers=self._headers(), timeout=30, retries=False
        )
        if response.status != 200:
            raise SystemExit(f"{host}/metrics: HTTP {response.status}: the benchmark needs the right to read it")
        requests = cpu = 0.0
        for line in response.data.decode().splitlines():
            if (
                line.startswith("apiserver_request_total{")
                and 'verb="WATCH"' not in line
                and 'verb="CONNECT"' not in line
            ):
                requests += float(line.rpartition(" ")[2])
            elif line.startswith("process_cpu_seconds_total "):
                cpu = float(line.rpartition(" ")[2])
        return requests, cpu

    def _headers(self) -> dict[str, str]:
        settings = self.client.configuration.auth_settings()
        return {one["key"]: one["value"] for one in settings.values() if one.get("value")}

    def learn_idle(self) -> None:
        """How many requests per second come from controllers and kubelets anyway? Waits until that is few.

        Controllers are busy with hundreds of new namespaces for a minute and longer, which is nobody's time measured here.
        """
        deadline = time.monotonic() + _SETTLE_LIMIT
        while True:
            before, _cpu = self.counters()
            time.sleep(_SETTLE)
            after, _cpu = self.counters()
            self.idle = max(0.0, after - before - 1) / _SETTLE
            if self.idle < _QUIET:
                return
            if time.monotonic() > deadline:
                print(f"the API server is busy with {self.idle:.0f} other requests per second", file=sys.stderr)
                return


class Memory(threading.Thread):
    """Samples the memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak_kb = 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(_SAMPLE):
            self.peak_kb = max(self.peak_kb, sum(_pss_kb(pid) for pid in _tree(self.pid)))


def _tree(root: int) -> list[int]:
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        for task in _listed(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                todo += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _pss_kb(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def playbook(play: str, folder: Path, forks: int) -> tuple[list[str], dict[str, str]]:
    """Command and environment for a play of a folder that has C(inventory.yml)."""
    env = os.environ | {
        "ANSIBLE_FORKS": str(forks),
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_HOST_KEY_CHECKING": "0",
        "ANSIBLE_LOCAL_TEMP": str(folder / "local"),
        "ANSIBLE_REMOTE_TEMP": str(folder / "remote"),
    }
    return [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", play], env


def measured(
    server: ApiServer,
    method: str,
    clusters: int,
    run: str,
    folder: Path,
    forks: int,
    play: str = "play.yml",
    others: int | None = 0,
) -> Measure:
    """Run a play of a folder and measure it.

    Args:
        server: whose counters count.
        method: name of the way, for the table.
        clusters: how many clusters are delivered to.
        run: "first" or "no change", for the table.
        folder: with inventory and play.
        forks: Ansible's.
        play: file of the play.
        others: how many hosts the play has besides the clusters. None: it may run on some of them only, so its exit status counts.
    """
    command, env = playbook(play, folder, forks)
    requests, cpu = server.counters()
    output = folder / f"{Path(play).stem}-{run.replace(' ', '-')}.log"
    start = time.monotonic()
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=subprocess.STDOUT)
        memory = Memory(process.pid)
        memory.start()
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    memory.done.set()
    memory.join()
    requests_after, cpu_after = server.counters()
    recap = [tuple(map(int, one)) for one in _RECAP.findall(output.read_text(encoding="utf-8"))]
    if process.returncode if others is None else len(recap) != clusters + others:
        raise SystemExit(
            f"{method} with {clusters} clusters did not run:\n{output.read_text(encoding='utf-8')[-3000:]}"
        )
    return Measure(
        method=method,
        clusters=clusters,
        run=run,
        seconds=round(seconds, 2),
        requests=max(0, round(requests_after - requests - 1 - server.idle * seconds)),
        cpu_seconds=round(usage.ru_utime + usage.ru_stime, 2),
        server_cpu_seconds=round(cpu_after - cpu, 2),
        rss_largest_mb=round(usage.ru_maxrss * 1024 / 1e6, 1),
        pss_sum_mb=round(memory.peak_kb * 1024 / 1e6, 1),
        changed=sum(1 for changed, _u, _f in recap if changed),
        failed=sum(1 for _c, unreachable, failed in recap if unreachable or failed),
    )


def medians(measures: Iterable[Measure]) -> list[Measure]:
    """One measure per method, number of clusters and run."""
    groups: dict[tuple[str, int, str], list[Measure]] = {}
    for one in measures:
        groups.setdefault((one.method, one.clusters, one.run), []).append(one)
    return [sorted(group, key=lambda one: one.seconds)[len(group) // 2] for group in groups.values()]


def compare(measures: Iterable[Measure], base: str) -> None:
    """Fill in the ratios. Of repeated runs the median counts."""
    listed = list(measures)
    reference = {(one.clusters, one.run): one.seconds for one in medians(listed) if one.method == base}
    for one in listed:
        seconds = reference.get((one.clusters, one.run))
        one.ratio = round(seconds / one.seconds, 1) if seconds and one.method != base else None


# ---- telling ---------------------------------------------------------------------------------------------------------

_COLUMNS: tuple[tuple[str, str, Callable[[Measure], str]], ...] = (
    ("method", "<14", lambda m: m.method),
    ("clusters", ">8", lambda m: str(m.clusters)),
    ("run", "<9", lambda m: m.run),
    ("seconds", ">8", lambda m: f"{m.seconds:.2f}"),
    ("ms/cluster", ">10", lambda m: f"{m.seconds / m.clusters * 1000:.0f}"),
    ("requests", ">8", lambda m: f"{m.requests:.0f}"),
    ("CPU s", ">7", lambda m: f"{m.cpu_seconds:.1f}"),
    ("server CPU s", ">12", lambda m: f"{m.server_cpu_seconds:.1f}"),
    ("RSS MB", ">7", lambda m: f"{m.rss_largest_mb:.0f}"),
    ("PSS MB", ">7", lambda m: f"{m.pss_sum_mb:.0f}"),
    ("changed", ">7", lambda m: str(m.changed)),
    ("failed", ">6", lambda m: str(m.failed)),
    ("ratio", ">6", lambda m: "" if m.ratio is None else f"{m.ratio:.1f}"),
)


def print_head() -> None:
    print("  ".join(f"{title:{form}}" for title, form, _cell in _COLUMNS), flush=True)


def print_row(one: Measure) -> None:
    print("  ".join(f"{cell(one):{form}}" for _title, form, cell in _COLUMNS), flush=True)


def machine() -> dict[str, Any]:
    """What it ran on."""
    import ansible.release
    import kubernetes as package

    return {
        "cores": len(os.sched_getaffinity(0)),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "ansible_core": ansible.release.__version__,
        "kubernetes": package.__version__,
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


def context_of(kubeconfig: str, wanted: str | None) -> str:
    """The context that is wanted, or a good one."""
    whole = yaml.safe_load(Path(kubeconfig).read_text(encoding="utf-8"))
    names = [one["name"] for one in whole["contexts"]]
    chosen = wanted or ("hub" if "hub" in names else whole.get("current-context"))
    if chosen not in names:
        raise SystemExit(f"{kubeconfig} has no context {chosen}; it has {', '.join(names)}")
    return chosen
