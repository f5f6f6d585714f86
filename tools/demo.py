# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""demo.py up|down [ocm|skupper|study]: start or remove a demo, on the test fleet or in the contexts of FLOWER_FLEET_KUBECONFIG.

The variants differ in how the sites are reached, and in what the app is:

- ocm: Open Cluster Management delivers to the sites; the hub is the only cluster that Ansible connects to.
- skupper: the sites connect through Skupper, which a stand-in replaces (tests/skupper_standin).
- study: the sites have tables, and the trained model is scored on this machine (examples/tabular).

FLOWER_FLEET_CONTEXTS names the contexts of the hub, site-a and site-b in the kubeconfig; one name stands for all three. The output of all
steps goes to a log in build/; VERBOSE=1 shows it as well.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from steps import Display, Durations, Progress, Runner, Step, StepFailed, format_duration
from together import exit_on_signals

CHECKOUT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("FLOWER_BUILD") or CHECKOUT / "build")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CLUSTERS = ("hub", "site-a", "site-b")
INVENTORY_VARIABLES = ("FLOWER_FLEET_KUBECONFIG", "FLOWER_FLEET_CONTEXTS", "FLOWER_FLEET_GPU")  # of the environment, in inventories/demo
GPU_RESOURCE = "nvidia.com/gpu"


class RequestError(Exception):
    """The arguments or environment variables are not valid, and nothing was started."""


# ---- variants and their steps -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Demo:
    """A variant of the demo and its clusters.

    Attributes:
        variant: ocm, skupper, study, or empty for the plain demo.
        kubeconfig: path of the user's kubeconfig; empty for the test fleet.
        contexts: those of the hub, site-a and site-b.
    """

    variant: str
    kubeconfig: str
    contexts: tuple[str, ...] = CLUSTERS

    @property
    def target(self) -> str:
        """Target of the Makefile."""
        return f"demo-{self.variant}" if self.variant else "demo"

    @property
    def inventory(self) -> str:
        """Path of the inventory, relative to the checkout."""
        return f"inventories/{self.target}"

    def playbook(self, name: str, *variables: str) -> list[str]:
        """Return the command that runs a playbook with extra variables."""
        return ["ansible-playbook", "-i", self.inventory, name, *(word for variable in variables for word in ("-e", variable))]

    def up(self, page: Path) -> list[Step]:
        """Return the steps that deploy a federation, run an app and write a report to the page."""
        run = self._study() if self.variant == "study" else self._quickstart()
        return [
            *(self._check_clusters() if self.kubeconfig else self._start_fleet()),
            Step("federation", self.playbook("federated.flower.site"), estimate="30 to 90 s"),
            *run,
            Step("report", self.playbook("federated.flower.status", f"flower_status_page={page}"), shows_result=True),
        ]

    def down(self) -> list[Step]:
        """Return the step that stops the test fleet, or removes the federation and its volumes from the user's clusters."""
        if self.kubeconfig:
            command = self.playbook("federated.flower.teardown", "flower_teardown=true", "flower_delete_volumes=true")
            return [Step("removal of the federation", command)]
        return [Step("removal of the clusters", fleet("down"))]

    def _check_clusters(self) -> list[Step]:
        # The hub as well: the playbook's default is the group of the sites.
        command = self.playbook("federated.flower.node_facts", "flower_sites_group=all")
        return [] if self.variant else [Step("your clusters", command, changes=False)]

    def _start_fleet(self) -> list[Step]:
        if not any(CACHE.glob("flower-fleet/seed/*")):
            estimate = "5 to 10 min the first time"
        elif Path("/run/flower-fleet").exists():
            estimate = "a moment"
        else:
            estimate = "10 to 30 s"
        return [
            Step("three Kubernetes clusters", fleet("up"), estimate),
            *{
                "ocm": [Step("Open Cluster Management", fleet("addon", "ocm", "up"))],
                "skupper": [Step("stand-in for Skupper", fleet("addon", "skupper", "up"))],
                "study": [Step("image of the app", fleet("image", "tabular"))],
            }.get(self.variant, []),
        ]

    def _quickstart(self) -> list[Step]:
        return [self._run_app(f"flower_app={CHECKOUT}/examples/quickstart")]

    def _study(self) -> list[Step]:
        app, study = CHECKOUT / "examples/tabular", BUILD / "demo-study"
        return [
            Step("tables", study_python(f'"$python" -B "{app}/split.py" "{study}/tables" site-a site-b')),
            Step("tables at the sites", self.playbook(f"{app}/load.yml", f"study_tables={study}/tables")),
            # score.py takes the outputs of one run.
            Step("room for outputs", ["rm", "-rf", study / "outputs"]),
            self._run_app(
                f"flower_app={app}",
                '{"flower_run_datasets": ["biopsies"]}',
                f"flower_outputs_directory={study}/outputs",
                "flower_run_interval=10",
            ),
            Step("score of the model, on this machine", study_python(f'"$python" -B "{app}/score.py" "{study}/outputs"/*/'), shows_result=True),
        ]

    def _run_app(self, *variables: str) -> Step:
        command = self.playbook("federated.flower.run", *variables)
        return Step("run of an app", command, "30 to 90 s", shows_result=True, highlight=r"^\S+ \| (round \d+: [^(]*[^ (])")


def fleet(*arguments: str) -> list[str | Path]:
    """Return a command of the test fleet."""
    return ["sh", CHECKOUT / "tests/fleet/fleet", *arguments]


def study_python(command: str) -> list[str]:
    """Return a shell command whose variable python is an interpreter with the study's packages."""
    return ["bash", "-c", f'python=$(python3 "{CHECKOUT}/tools/environment.py" study) && {command}']


def run_steps(demo: Demo, steps: Sequence[Step], runner: Runner) -> list[list[str]]:
    """Run the steps in turn and return the lines of their results, the last result first."""
    results: list[list[str]] = []
    for number, step in enumerate(steps, 1):
        if step.command[0] == "ansible-playbook" and not runner.environ["FLOWER_FLEET_KUBECONFIG"]:
            # Not earlier: with this variable, commands of the fleet leave its clusters alone.
            found = subprocess.run(fleet("kubeconfig"), env=runner.environ, capture_output=True, text=True, check=True)
            runner.environ["FLOWER_FLEET_KUBECONFIG"] = found.stdout.strip()
        progress = runner.run(step, f"{number}/{len(steps)}")
        if step.shows_result:
            results.insert(0, progress.message or progress.output)
        if lacks_gpu(progress) and not runner.environ.get("FLOWER_FLEET_GPU"):
            runner.display.print(f"    site-b runs without a GPU: no node of {demo.contexts[2]} has {GPU_RESOURCE}")
            runner.environ["FLOWER_FLEET_GPU"] = "none"
    return results


def lacks_gpu(progress: Progress) -> bool:
    """Return whether a step has looked for GPUs at site-b and found none."""
    return bool(progress.nodes) and not progress.nodes.get("site-b", {}).get("gpus", {}).get(GPU_RESOURCE)


# ---- arguments and environment variables ------------------------------------------------------------------------


def parse_request(variant: str, environ: Mapping[str, str]) -> Demo:
    """Return the demo for a variant and environment variables.

    Raises:
        RequestError: the variables do not fit the variant, or name contexts that do not exist.
    """
    path, names = environ.get("FLOWER_FLEET_KUBECONFIG", ""), environ.get("FLOWER_FLEET_CONTEXTS", "")
    kubeconfig = str(Path(path).expanduser().absolute()) if path else ""
    if variant == "study" and kubeconfig:
        raise RequestError(
            "the study runs on the local fleet only: it writes tables to claims and deletes volumes. Unset FLOWER_FLEET_KUBECONFIG, "
            "or go through docs/docsite/rst/guide_study.rst with an inventory of your own."
        )
    if names and not kubeconfig:
        raise RequestError("FLOWER_FLEET_CONTEXTS names contexts of FLOWER_FLEET_KUBECONFIG, which is not set.")
    if names and variant:
        raise RequestError(f"FLOWER_FLEET_CONTEXTS is for 'make demo' only. 'make demo-{variant}' takes the contexts {', '.join(CLUSTERS)}.")
    contexts = [name.strip() for name in names.split(",")] if names else list(CLUSTERS)
    if len(contexts) not in (1, len(CLUSTERS)) or not all(contexts):
        raise RequestError(f"FLOWER_FLEET_CONTEXTS has three names, of {', '.join(CLUSTERS)}, or one for all of them, and not '{names}'.")
    if kubeconfig:
        existing = read_contexts(Path(kubeconfig))
        if missing := [name for name in dict.fromkeys(contexts) if name not in existing]:
            raise RequestError(
                f"{kubeconfig} has no context {', '.join(missing)} (it has: {', '.join(existing) or 'none'}). FLOWER_FLEET_CONTEXTS names "
                "those of the hub, site-a and site-b; one name is enough."
            )
    return Demo(variant, kubeconfig, tuple(contexts * 3)[:3])


def read_contexts(kubeconfig: Path) -> list[str]:
    """Return the names of the contexts in a kubeconfig."""
    try:
        return [str(context["name"]) for context in yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))["contexts"] or []]
    except OSError as error:
        raise RequestError(f"FLOWER_FLEET_KUBECONFIG: {kubeconfig} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        raise RequestError(f"FLOWER_FLEET_KUBECONFIG: {kubeconfig} is not a kubeconfig.") from None


# ---- what follows the steps -------------------------------------------------------------------------------------


def shell_lines(demo: Demo, environ: Mapping[str, str]) -> list[str]:
    """Return the commands that prepare a shell for the demo's inventory."""
    if demo.kubeconfig:
        access = [f"export {name}={shlex.quote(environ[name])}" for name in INVENTORY_VARIABLES if environ.get(name)]
    else:
        access = ["export KUBECONFIG=$(sh tests/fleet/fleet kubeconfig)"]
    return [
        'export PATH="$(make -s print-venv)/bin:$PATH"',
        "ansible-galaxy collection install ./ --no-deps --force",
        *access,
        "export ANSIBLE_CALLBACK_RESULT_FORMAT=yaml",
    ]


def next_commands(demo: Demo) -> list[str]:
    """Return commands to try next."""
    app = "tabular" if demo.variant == "study" else "quickstart"
    return [
        f"ansible-playbook -i {demo.inventory} federated.flower.status",
        f"ansible-playbook -i {demo.inventory} federated.flower.run -e flower_app=examples/{app}",
        f"make {demo.target}-down",
    ]


def relative(path: Path) -> str:
    """Return the path relative to the working directory if it lies below it."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def main(arguments: Sequence[str]) -> int:
    """Return 0 if the demo was started or removed, 1 if a step failed, 2 if the request is not valid, 130 after an interrupt."""
    parser = argparse.ArgumentParser(prog="demo.py")
    parser.add_argument("verb", choices=("up", "down"))
    parser.add_argument("variant", choices=("", "ocm", "skupper", "study"), nargs="?", default="", metavar="ocm|skupper|study")
    options = parser.parse_args(arguments)
    try:
        demo = parse_request(options.variant, os.environ)
    except RequestError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    exit_on_signals()
    up = options.verb == "up"
    log, page = BUILD / f"demo{'' if up else '-down'}.log", BUILD / "fleet.html"
    BUILD.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    environ = {
        **os.environ,
        "FLOWER_FLEET_KUBECONFIG": demo.kubeconfig,
        "ANSIBLE_CALLBACK_PLUGINS": str(CHECKOUT / "tools/demo_callback"),
        "ANSIBLE_CALLBACKS_ENABLED": "demo_progress",
    }
    display, durations = Display(sys.stdout), Durations(CACHE / "federated-flower/demo-seconds.json")
    runner = Runner(display, durations, log, environ, CHECKOUT, verbose=bool(os.environ.get("VERBOSE")))
    display.print(f"The output of all steps is in {relative(log)}. VERBOSE=1 shows it here.")
    start = time.monotonic()
    clusters = "your clusters" if demo.kubeconfig else "the clusters"
    advice = f"'make {demo.target}{'' if up else '-down'}' continues from here, 'make {demo.target}-down' removes what there is on {clusters}."
    try:
        results = run_steps(demo, demo.up(page) if up else demo.down(), runner)
    except StepFailed as error:
        display.print(f"Log: {relative(log)}. {advice if error.step.changes else 'Nothing was changed.'}")
        return 1
    except (KeyboardInterrupt, SystemExit) as error:
        display.print(f"Interrupted. Log: {relative(log)}. {advice}")
        return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 130
    seconds = format_duration(time.monotonic() - start)
    if not up:
        kept = "Your clusters are kept." if demo.kubeconfig else "Packages and caches are kept."
        display.print(f"The demo is gone after {seconds}. {kept}")
        return 0
    for lines in results:
        display.print("\n" + "\n".join(lines))
    display.print(f"\nThe same as a page: {relative(page)}. All of it took {seconds}. Log: {relative(log)}")
    display.print("\nTo go on, in this folder:\n")
    for line in [*shell_lines(demo, environ), "", *next_commands(demo)]:
        display.print(f"    {line}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
