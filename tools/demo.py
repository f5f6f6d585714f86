# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""demo.py up|down [ocm|skupper|study]: the real thing on one machine, or on the contexts of FLOWER_FLEET_KUBECONFIG.

With ocm, Open Cluster Management delivers to the sites, and nothing else reaches them. With skupper, the sites join through Skupper,
which is the one counterpart that a stand-in plays (tests/skupper_standin). With study, the sites have tables, and a model comes home
(examples/tabular).

FLOWER_FLEET_CONTEXTS names the contexts of the hub, site-a and site-b in a kubeconfig of one's own; one name is all three. Each step is
one line. On a terminal the line of the present step is rewritten, elsewhere a line follows every 25 seconds. All other output goes to a
log in build/; VERBOSE=1 shows it as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import yaml
from together import exit_on_signals

HERE = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("FLOWER_BUILD") or HERE / "build")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CLUSTERS = ("hub", "site-a", "site-b")
OWN = ("FLOWER_FLEET_KUBECONFIG", "FLOWER_FLEET_CONTEXTS", "FLOWER_FLEET_GPU")  # variables of inventories/demo
GPU = "nvidia.com/gpu"
BEAT = 0.5  # seconds between two looks at what a step has reported
ALIVE = 25.0  # seconds between signs of life where no line is rewritten
PATIENCE = 60.0  # seconds that a step has to end after an interrupt
SHOWN = 8  # lines of a failure
TIMES = 5  # times of a step that are kept


class RefusedError(Exception):
    """Nothing was started, and why."""


# ---- what is to be done -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A command of the demo.

    Attributes:
        title: what is done.
        command: the program and its arguments.
        first: how long it takes, for a machine that has no time of its own yet.
        note: what tells its durations apart, beside the title.
        shows: whether its result is shown at the end: what its last task said, or all that it printed.
        live: what of its output is news; the first group is shown.
        changes: whether it changes anything.
    """

    title: str
    command: Sequence[str | Path]
    first: str = ""
    note: str = ""
    shows: bool = False
    live: str = ""
    changes: bool = True

    @property
    def kind(self) -> str:
        """Steps of a kind take about the same time."""
        return f"{self.title} {self.note}".rstrip()

    @property
    def playbook(self) -> bool:
        """Whether Ansible runs it."""
        return self.command[0] == "ansible-playbook"


class StepFailed(Exception):
    """A step of the demo ended with an error."""

    def __init__(self, step: Step) -> None:
        super().__init__(step.title)
        self.step = step


@dataclass(frozen=True)
class Demo:
    """What was asked for.

    Attributes:
        variant: ocm, skupper, study or nothing.
        kubeconfig: of one's own clusters; empty for the fleet of this machine.
        contexts: of the hub and the sites in it.
    """

    variant: str
    kubeconfig: str
    contexts: tuple[str, ...] = CLUSTERS

    @property
    def inventory(self) -> str:
        """Path of the inventory, from the checkout."""
        return f"inventories/demo{'-' if self.variant else ''}{self.variant}"

    @property
    def target(self) -> str:
        """Target of the Makefile."""
        return f"demo{'-' if self.variant else ''}{self.variant}"

    def playbook(self, name: str, *options: str) -> list[str]:
        """The command that runs a playbook."""
        return ["ansible-playbook", "-i", self.inventory, name, *(word for option in options for word in ("-e", option))]

    def up(self, page: Path) -> list[Step]:
        """The steps to a federation that has run an app."""
        run = self._study() if self.variant == "study" else self._quickstart()
        return [
            *(self._own_clusters() if self.kubeconfig else self._fleet()),
            Step("federation", self.playbook("federated.flower.site"), first="30 to 90 s"),
            *run,
            Step("report", self.playbook("federated.flower.status", f"flower_status_page={page}"), shows=True),
        ]

    def down(self) -> list[Step]:
        """The clusters of the test fleet go away whole; from clusters that were given, the demo's federation does, with its volumes."""
        if self.kubeconfig:
            words = self.playbook("federated.flower.teardown", "flower_teardown=true", "flower_delete_volumes=true")
            return [Step("removal of the federation", words)]
        return [Step("removal of the clusters", fleet("down"))]

    def _own_clusters(self) -> list[Step]:
        # of all clusters, not only of the sites
        words = self.playbook("federated.flower.node_facts", "flower_sites_group=all")
        return [] if self.variant else [Step("your clusters", words, changes=False)]

    def _fleet(self) -> list[Step]:
        first, note = "10 to 30 s", ""
        if not any(CACHE.glob("flower-fleet/seed/*")):
            first, note = "5 to 10 min the first time", "built"
        elif Path("/run/flower-fleet").exists():
            first, note = "a moment", "running"
        return [
            Step("three Kubernetes clusters", fleet("up"), first=first, note=note),
            *{
                "ocm": [Step("Open Cluster Management", fleet("addon", "ocm", "up"))],
                "skupper": [Step("stand-in for Skupper", fleet("addon", "skupper", "up"))],
                "study": [Step("image of the app", fleet("image", "tabular"))],
            }.get(self.variant, []),
        ]

    def _quickstart(self) -> list[Step]:
        return [self._run(self.playbook("federated.flower.run", f"flower_app={HERE}/examples/quickstart"))]

    def _study(self) -> list[Step]:
        app, study = HERE / "examples/tabular", BUILD / "demo-study"
        options = (f"flower_app={app}", '{"flower_run_datasets": ["biopsies"]}', f"flower_outputs_directory={study}/outputs", "flower_run_interval=10")
        return [
            Step("tables", study_python(f'"$python" -B "{app}/split.py" "{study}/tables" site-a site-b')),
            Step("tables at the sites", self.playbook(f"{app}/load.yml", f"study_tables={study}/tables")),
            # of this run only
            Step("room for outputs", ["rm", "-rf", study / "outputs"]),
            self._run(self.playbook("federated.flower.run", *options)),
            Step("score of the model, on this machine", study_python(f'"$python" -B "{app}/score.py" "{study}/outputs"/*/'), shows=True),
        ]

    @staticmethod
    def _run(command: Sequence[str]) -> Step:
        return Step("run of an app", command, first="30 to 90 s", shows=True, live=r"^\S+ \| (round \d+: [^(]*[^ (])")


def fleet(*words: str) -> list[str | Path]:
    """A command of the test fleet."""
    return ["sh", HERE / "tests/fleet/fleet", *words]


def study_python(command: str) -> list[str]:
    """What a data scientist does on their own machine: a shell command with the Python that has the app's packages."""
    return ["bash", "-c", f'python=$(python3 "{HERE}/tools/environment.py" study) && {command}']


# ---- what is refused --------------------------------------------------------------------------------------------


def asked(variant: str, environ: Mapping[str, str]) -> Demo:
    """The demo that arguments and environment ask for.

    Raises:
        RefusedError: the variables do not fit, or do not name clusters.
    """
    given, named = environ.get("FLOWER_FLEET_KUBECONFIG", ""), environ.get("FLOWER_FLEET_CONTEXTS", "")
    kubeconfig = str(Path(given).expanduser().absolute()) if given else ""
    if variant == "study" and kubeconfig:
        raise RefusedError(
            "the study runs on the local fleet only: it writes tables to claims and deletes volumes. Unset FLOWER_FLEET_KUBECONFIG, "
            "or go through docs/docsite/rst/guide_study.rst with an inventory of your own."
        )
    if named and not kubeconfig:
        raise RefusedError("FLOWER_FLEET_CONTEXTS names contexts of FLOWER_FLEET_KUBECONFIG, which is not set.")
    if named and variant:
        raise RefusedError(f"FLOWER_FLEET_CONTEXTS is for 'make demo' only. 'make demo-{variant}' takes the contexts {', '.join(CLUSTERS)}.")
    contexts = [name.strip() for name in named.split(",")] if named else list(CLUSTERS)
    if len(contexts) not in (1, len(CLUSTERS)) or not all(contexts):
        raise RefusedError(f"FLOWER_FLEET_CONTEXTS has three names, of {', '.join(CLUSTERS)}, or one for all of them, and not '{named}'.")
    if kubeconfig:
        have = known_contexts(Path(kubeconfig))
        if missing := [name for name in dict.fromkeys(contexts) if name not in have]:
            raise RefusedError(
                f"{kubeconfig} has no context {', '.join(missing)} (it has: {', '.join(have) or 'none'}). FLOWER_FLEET_CONTEXTS names "
                "those of the hub, site-a and site-b; one name is enough."
            )
    return Demo(variant, kubeconfig, tuple(contexts * 3)[:3])


def known_contexts(file: Path) -> list[str]:
    """Names of the contexts in a kubeconfig."""
    try:
        return [str(entry["name"]) for entry in yaml.safe_load(file.read_text(encoding="utf-8"))["contexts"] or []]
    except OSError as error:
        raise RefusedError(f"FLOWER_FLEET_KUBECONFIG: {file} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        raise RefusedError(f"FLOWER_FLEET_KUBECONFIG: {file} is not a kubeconfig.") from None


# ---- what is shown ----------------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    """Seconds as people write them."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Display:
    """Lines on standard output, and one that is rewritten if it is a terminal. It has no colours."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._rewrites = out.isatty() and os.environ.get("TERM") != "dumb"
        self._open = False
        self._spoken = clock()

    def line(self, text: str) -> None:
        """Show a line that stays."""
        print(("\r\x1b[K" if self._open else "") + text, file=self._out, flush=True)
        self._open = False
        self._spoken = self._clock()

    def present(self, text: str) -> None:
        """Show what is done now."""
        if self._rewrites:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{text if len(text) <= width else text[: width - 1] + '…'}\x1b[K", end="", file=self._out, flush=True)
            self._open = True
        elif self._clock() - self._spoken >= ALIVE:
            self.line(f"... {text}")


@dataclass
class News:
    """What a step has reported, one line of JSON each: the fleet (console.py) and Ansible (demo_callback) write them.

    Attributes:
        doing: what is done now.
        tasks: tasks of the playbook so far.
        said: what its last message was.
        failed: messages of failures.
        nodes: what the nodes of the sites have.
    """

    doing: str = ""
    tasks: int = 0
    said: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    nodes: dict[str, Any] = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Read a line."""
        one = json.loads(line)
        self.doing = one.get("doing", self.doing)
        self.tasks += "task" in one
        if "said" in one:
            self.said = one["said"] if isinstance(one["said"], list) else [one["said"]]
        if "failed" in one:
            self.failed.append(one["failed"])
        self.nodes |= one.get("nodes", {})

    def words(self) -> str:
        """What is done now, in a few words."""
        return f"{self.doing}, task {self.tasks}" if self.tasks else self.doing


class Tail:
    """What is appended to a file, in complete lines."""

    def __init__(self, path: Path) -> None:
        self._file = path.open(encoding="utf-8", errors="replace")
        self._file.seek(0, os.SEEK_END)
        self._rest = ""

    def lines(self) -> list[str]:
        """The lines since the last call."""
        *found, self._rest = (self._rest + self._file.read()).split("\n")
        return found


# ---- steps ------------------------------------------------------------------------------------------------------


class Durations:
    """How long steps took the last times on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[float]] = {}
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            self._known = json.loads(path.read_text(encoding="utf-8"))

    def usual(self, step: Step) -> str:
        """In words; empty if it is not known."""
        known = self._known.get(step.kind)
        words = duration(statistics.median_high(known)) if known else step.first
        return f" (usually {words})" if words else ""

    def note(self, step: Step, seconds: float) -> None:
        """Keep the time of a step."""
        self._known[step.kind] = [*self._known.get(step.kind, []), round(seconds, 1)][-TIMES:]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._known, indent=1) + "\n", encoding="utf-8")


@dataclass
class Runner:
    """Runs steps one after the other, with their output in a log."""

    display: Display
    durations: Durations
    log: Path
    environ: dict[str, str]
    verbose: bool = False
    lines: list[str] = field(default_factory=list)

    def run(self, step: Step, place: str) -> News:
        """Run a step to its end.

        Args:
            step: what to run.
            place: its number, as in C(2/4).

        Raises:
            StepFailed: it ended with an error.
        """
        progress = self.log.with_suffix(".progress")
        progress.write_text("")
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n--- {place} {step.title}: {shlex.join(map(str, step.command))}\n")
        news, events, output = News(), Tail(progress), Tail(self.log)
        begun = time.monotonic()
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                step.command,
                cwd=HERE,
                env={**self.environ, "FLOWER_PROGRESS": str(progress)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # with what it starts in a group, which can be ended as a whole
            )
        self.lines, live = [], ""
        try:
            code: int | None = None
            while code is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(BEAT)
                for line in events.lines():
                    news.take(line)
                for line in output.lines():
                    self.lines.append(line)
                    if self.verbose:
                        self.display.line(line)
                    if step.live and (match := re.search(step.live, line)):
                        live = match[1]
                if code is None and not self.verbose:
                    doing = f": {live or news.words()}".rstrip(": ")
                    self.display.present(f"{place} {step.title}{doing}, {duration(time.monotonic() - begun)}{self.durations.usual(step)}")
        finally:
            if process.poll() is None:
                self._end(process, place, step)
            progress.unlink()
        seconds = time.monotonic() - begun
        if code:
            self.display.line(f"{place} {step.title}: failed after {duration(seconds)}")
            for text in news.failed[-SHOWN:] or [line for line in self.lines if line.strip()][-SHOWN:]:
                self.display.line(textwrap.indent(text, "    "))
            raise StepFailed(step)
        self.durations.note(step, seconds)
        told = f". {news.said[-1]}" if news.said and not step.shows else ""
        self.display.line(f"{place} {step.title}: {duration(seconds)}{told}")
        return news

    def _end(self, process: subprocess.Popen[bytes], place: str, step: Step) -> None:
        """End a step as Ctrl-C on a terminal does, and wait for it; again, or after a while, kill it."""
        self.display.line(f"{place} {step.title}: interrupted; waiting for its end (Ctrl-C again kills it)")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except (KeyboardInterrupt, SystemExit, subprocess.TimeoutExpired):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def shell_lines(demo: Demo, environ: Mapping[str, str]) -> list[str]:
    """What prepares a shell for the demo's inventory."""
    if demo.kubeconfig:
        access = [f"export {name}={shlex.quote(environ[name])}" for name in OWN if environ.get(name)]
    else:
        access = ["export KUBECONFIG=$(sh tests/fleet/fleet kubeconfig)"]
    return [
        'export PATH="$(make -s print-venv)/bin:$PATH"',
        "ansible-galaxy collection install ./ --no-deps --force",
        *access,
        "export ANSIBLE_CALLBACK_RESULT_FORMAT=yaml",
    ]


def next_commands(demo: Demo) -> list[str]:
    """Three commands that continue from here."""
    app = "tabular" if demo.variant == "study" else "quickstart"
    return [
        f"ansible-playbook -i {demo.inventory} federated.flower.status",
        f"ansible-playbook -i {demo.inventory} federated.flower.run -e flower_app=examples/{app}",
        f"make {demo.target}-down",
    ]


def shown_path(path: Path) -> str:
    """The path from here, if it is below."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def lead(demo: Demo, steps: Sequence[Step], runner: Runner) -> list[list[str]]:
    """Run all steps; returns what they have to show, the last one's first."""
    shown: list[list[str]] = []
    for number, step in enumerate(steps, 1):
        if step.playbook and "FLOWER_FLEET_KUBECONFIG" not in runner.environ:
            # only now: to the fleet's own commands it names other clusters
            found = subprocess.run(fleet("kubeconfig"), env=runner.environ, capture_output=True, text=True, check=True)
            runner.environ["FLOWER_FLEET_KUBECONFIG"] = found.stdout.strip()
        news = runner.run(step, f"{number}/{len(steps)}")
        if step.shows:
            shown.insert(0, news.said if step.playbook else runner.lines)
        if news.nodes and not news.nodes.get("site-b", {}).get("gpus", {}).get(GPU) and not runner.environ.get("FLOWER_FLEET_GPU"):
            runner.display.line(f"    site-b runs without a GPU: no node of {demo.contexts[2]} has {GPU}")
            runner.environ["FLOWER_FLEET_GPU"] = "none"
    return shown


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 if the demo runs or is gone, 1 if a step failed, 2 if it was refused, 130 after an interrupt."""
    parser = argparse.ArgumentParser(prog="demo.py")
    parser.add_argument("verb", choices=("up", "down"))
    parser.add_argument("variant", choices=("", "ocm", "skupper", "study"), nargs="?", default="", metavar="ocm|skupper|study")
    options = parser.parse_args(arguments)
    try:
        demo = asked(options.variant, os.environ)
    except RefusedError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    exit_on_signals()
    up = options.verb == "up"
    log, page = BUILD / f"demo{'' if up else '-down'}.log", BUILD / "fleet.html"
    BUILD.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    environ = {
        **{name: value for name, value in os.environ.items() if value or name != "FLOWER_FLEET_KUBECONFIG"},
        "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "tools/demo_callback"),
        "ANSIBLE_CALLBACKS_ENABLED": "demo_progress",
    }
    if demo.kubeconfig:
        environ["FLOWER_FLEET_KUBECONFIG"] = demo.kubeconfig
    display = Display(sys.stdout)
    runner = Runner(display, Durations(CACHE / "federated-flower/demo-seconds.json"), log, environ, bool(os.environ.get("VERBOSE")))
    display.line(f"The output of all steps is in {shown_path(log)}. VERBOSE=1 shows it here.")
    begun = time.monotonic()
    place = "your clusters" if demo.kubeconfig else "the clusters"
    way_on = f"'make {demo.target}{'' if up else '-down'}' continues from here, 'make {demo.target}-down' removes what there is on {place}."
    try:
        shown = lead(demo, demo.up(page) if up else demo.down(), runner)
    except StepFailed as error:
        display.line(f"Log: {shown_path(log)}. {way_on if error.step.changes else 'Nothing was changed.'}")
        return 1
    except (KeyboardInterrupt, SystemExit) as error:
        display.line(f"Interrupted. Log: {shown_path(log)}. {way_on}")
        return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 130
    if not up:
        kept = "Your clusters are kept." if demo.kubeconfig else "Packages and caches are kept."
        display.line(f"The demo is gone after {duration(time.monotonic() - begun)}. {kept}")
        return 0
    for lines in shown:
        display.line("\n" + "\n".join(lines))
    display.line(f"\nThe same as a page: {shown_path(page)}. All of it took {duration(time.monotonic() - begun)}. Log: {shown_path(log)}")
    display.line("\nTo go on, in this folder:\n")
    for line in [*shell_lines(demo, environ), "", *next_commands(demo)]:
        display.line(f"    {line}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
