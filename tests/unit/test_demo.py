# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: what it refuses before it starts anything, where it goes, and what it shows of what it runs."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import fleet_table
from ansible_collections.federated.flower.tests.unit.read import ROOT
from ansible_collections.federated.flower.tests.unit.rows import each_row

#: Contexts of the user's kubeconfig.
CONTEXTS = ["hub", "site-a", "site-b", "kind-one"]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, with folders of the test and without the environment's clusters."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    module = importlib.import_module("demo")
    for name in (*module.INVENTORY_VARIABLES, "VERBOSE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(module, "exit_on_signals", lambda: None)
    clock = SimpleNamespace(monotonic=lambda: 0.0)  # each step takes 0 s, on any machine
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(importlib.import_module("steps"), "time", clock)
    return module


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump({"contexts": [{"name": name} for name in CONTEXTS]}))
    return str(path)


# ---- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["up", "down"])
@pytest.mark.parametrize(
    ("variant", "file", "contexts", "why"),
    [
        ("study", "kubeconfig", None, "Unset FLOWER_FLEET_KUBECONFIG"),
        ("", "missing", None, "missing cannot be read: No such file"),
        ("", "no-kubeconfig", None, "no-kubeconfig is not a kubeconfig"),
        ("", "kubeconfig", "kind-two", "has no context kind-two (it has: hub, site-a, site-b, kind-one)"),
        ("", "kubeconfig", "hub,site-a", "three names"),
        ("", "kubeconfig", "hub,,site-a", "three names"),
        ("", "", "hub", "FLOWER_FLEET_KUBECONFIG, which is not set"),
        ("ocm", "kubeconfig", "hub", "'make demo-ocm' takes the contexts hub, site-a, site-b"),
    ],
)
def test_what_is_refused_before_anything_starts(
    demo: ModuleType,
    kubeconfig: str,
    verb: str,
    variant: str,
    file: str,
    contexts: str | None,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(kubeconfig).parent
    (folder / "no-kubeconfig").write_text("- a list")
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setenv("FLOWER_FLEET_KUBECONFIG", str(folder / file) if file else "")
    if contexts:
        monkeypatch.setenv("FLOWER_FLEET_CONTEXTS", contexts)
    assert demo.main([verb, *filter(None, [variant])]) == 2
    out, err = capsys.readouterr()
    assert out == "" and why in err and err.count("\n") == 1
    assert not demo.BUILD.exists()


# ---- where it goes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "contexts"),
    [(None, ("hub", "site-a", "site-b")), ("kind-one", ("kind-one",) * 3), ("kind-one, site-b,site-a", ("kind-one", "site-b", "site-a"))],
)
def test_one_context_is_all_three(demo: ModuleType, kubeconfig: str, given: str | None, contexts: tuple[str, ...]) -> None:
    environ = {"FLOWER_FLEET_KUBECONFIG": kubeconfig, **({"FLOWER_FLEET_CONTEXTS": given} if given else {})}
    assert demo.parse_request("", environ).contexts == contexts


EVALUATED = """\
import json
import os
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar
from ansible.vars.manager import VariableManager

init_plugin_loader([])
loader = DataLoader()
inventory = InventoryManager(loader, sources=["inventories/demo"])
variables = VariableManager(loader, inventory)
for environ in ({}, {"FLOWER_FLEET_CONTEXTS": "kind-one", "FLOWER_FLEET_GPU": "none"}):
    os.environ |= environ
    for host in ("hub", "site-a", "site-b"):
        found = variables.get_vars(host=inventory.get_host(host))
        known = [found[name] for name in ("flower_context", "supernode_namespace", "supernode_pools") if name in found]
        print(json.dumps(Templar(loader, variables=found).template(known)))
"""


def test_the_inventory_on_three_clusters_and_on_one(demo: ModuleType) -> None:
    done = subprocess.run([sys.executable, "-c", EVALUATED], cwd=ROOT, capture_output=True, text=True, check=True)
    own, shared = (lines := [json.loads(line) for line in done.stdout.splitlines()])[:3], lines[3:]
    # The namespace is that of the other demos, which may follow.
    assert [one[:2] for one in own] == [["hub"], ["site-a", "flower"], ["site-b", "flower"]]
    assert [one[:2] for one in shared] == [["kind-one"], ["kind-one", "flower-site-a"], ["kind-one", "flower-site-b"]]
    pools = [one[2][0] for one in (own[2], shared[2])]
    assert [(pool["name"], pool["gpu"]) for pool in pools] == [("gpu", {"count": 1}), ("cpu", {})]


def test_own_clusters_are_neither_started_nor_stopped(demo: ModuleType, kubeconfig: str) -> None:
    own, fleet = demo.Demo("", kubeconfig), demo.Demo("", "")
    assert all(step.command[0] == "ansible-playbook" for step in [*own.up(Path("page")), *own.down()])
    assert "flower_delete_volumes=true" in own.down()[0].command
    assert [step.command[-1] for step in (fleet.up(Path("page"))[0], *fleet.down())] == ["up", "down"]


@pytest.mark.parametrize("variant", ["", "ocm", "skupper", "study"])
def test_the_steps_name_files_that_exist(demo: ModuleType, variant: str) -> None:
    instance = demo.Demo(variant, "")
    assert (ROOT / instance.inventory).is_dir()
    playbooks = [step.command[3] for step in instance.up(Path("page")) if step.command[0] == "ansible-playbook"]
    for name in playbooks:
        path = Path(name) if "/" in name else ROOT / "playbooks" / f"{name.removeprefix('federated.flower.')}.yml"
        assert path.is_file()
    assert f"\n{instance.target}: " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_one_demo_can_follow_another() -> None:
    """They share clusters and the federation's name, and a claim cannot shrink."""
    hubs = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("inventories/demo*/group_vars/flower_hub.yml"))]
    assert len(hubs) == 4
    assert len({(hub["superlink_storage_size"], hub.get("superlink_outputs_size")) for hub in hubs}) == 1


# ---- what is shown ----------------------------------------------------------------------------------------------


def command(events: str, then: str = "echo printed") -> list[str]:
    """A command that reports events, and does something else after that."""
    return ["sh", "-c", f'printf %s {shlex.quote(events)} >>"$FLOWER_PROGRESS"; {then}']


def run(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], steps: list[Any], verb: str = "up") -> tuple[int, str]:
    """Exit status and output of the demo with other steps."""
    monkeypatch.setattr(demo.Demo, "up", lambda self, page: steps)
    monkeypatch.setattr(demo.Demo, "down", lambda self: steps)
    status = demo.main([verb])
    out, err = capsys.readouterr()
    assert err == ""
    return status, out


def test_what_a_demo_shows(demo: ModuleType, kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FLOWER_FLEET_KUBECONFIG", kubeconfig)
    monkeypatch.setenv("FLOWER_FLEET_CONTEXTS", "kind-one")
    steps = [
        demo.Step("your clusters", command('{"nodes": {"site-a": {"gpus": {}}, "site-b": {"gpus": {}}}}\n')),
        demo.Step("federation", command('{"message": "3 SuperNodes of 2 sites are online."}\n')),
        demo.Step(
            "run",
            command('{"message": ["round 1: accuracy 0.501", "round 2: accuracy 0.628"]}\n', 'echo "GPU is $FLOWER_FLEET_GPU"'),
            shows_result=True,
        ),
        demo.Step("score", command("", "echo accuracy 0.6280"), shows_result=True),
        demo.Step("report", command('{"message": ["cluster  region  pool", "hub              superlink"]}\n'), shows_result=True),
    ]
    status, out = run(demo, monkeypatch, capsys, steps)
    log = demo.BUILD / "demo.log"
    assert status == 0
    assert out.splitlines() == [
        f"The output of all steps is in {log}. VERBOSE=1 shows it here.",
        "1/5 your clusters: 0 s",
        "    site-b runs without a GPU: no node of kind-one has nvidia.com/gpu",
        "2/5 federation: 0 s. 3 SuperNodes of 2 sites are online.",
        "3/5 run: 0 s",
        "4/5 score: 0 s",
        "5/5 report: 0 s",
        "",
        "cluster  region  pool",
        "hub              superlink",
        "",
        "accuracy 0.6280",
        "",
        "round 1: accuracy 0.501",
        "round 2: accuracy 0.628",
        "",
        f"The same as a page: {demo.BUILD}/fleet.html. All of it took 0 s. Log: {log}",
        "",
        "To go on, in this folder:",
        "",
        '    export PATH="$(make -s print-venv)/bin:$PATH"',
        "    ansible-galaxy collection install ./ --no-deps --force",
        f"    export FLOWER_FLEET_KUBECONFIG={kubeconfig}",
        "    export FLOWER_FLEET_CONTEXTS=kind-one",
        "    export FLOWER_FLEET_GPU=none",
        "    export ANSIBLE_CALLBACK_RESULT_FORMAT=yaml",
        "",
        "    ansible-playbook -i inventories/demo federated.flower.status",
        "    ansible-playbook -i inventories/demo federated.flower.run -e flower_app=examples/quickstart",
        "    make demo-down",
    ]
    assert "GPU is none" in log.read_text()
    assert (demo.CACHE / "federated-flower/demo-seconds.json").is_file()


def test_the_clusters_of_this_machine(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ansible gets the kubeconfig of the fleet, and the fleet itself none: for it, that is one of other clusters."""
    program = tmp_path / "ansible-playbook"
    program.write_text('#!/bin/sh\necho "$3 with $FLOWER_FLEET_KUBECONFIG"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("FLOWER_FLEET_KUBECONFIG", "")
    monkeypatch.setattr(demo, "fleet", lambda *words: ["sh", "-c", f"echo fleet {' '.join(words)}${{FLOWER_FLEET_KUBECONFIG:+, and a variable}}"])
    assert demo.main(["up", "ocm"]) == 0
    printed = [line for line in (demo.BUILD / "demo.log").read_text().splitlines() if line and not line.startswith("---")]
    assert printed == [
        "fleet up", "fleet addon ocm up", "federated.flower.site with fleet kubeconfig", "federated.flower.run with fleet kubeconfig",
        "federated.flower.status with fleet kubeconfig",
    ]  # fmt: skip
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines[1:3] == ["1/5 three Kubernetes clusters: 0 s", "2/5 Open Cluster Management: 0 s"]
    assert lines[-1] == "    make demo-ocm-down" and "    export KUBECONFIG=$(sh tests/fleet/fleet kubeconfig)" in lines


def test_what_to_do_after_a_failure(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(demo, monkeypatch, capsys, [demo.Step("federation", ["false"]), demo.Step("run", ["true"])])
    assert status == 1
    assert out.splitlines()[1:] == [
        "1/2 federation: failed after 0 s",
        f"Log: {demo.BUILD}/demo.log. 'make demo' continues from here, 'make demo-down' removes what there is on the clusters.",
    ]
    status, out = run(demo, monkeypatch, capsys, [demo.Step("your clusters", ["false"], changes=False)])
    assert status == 1
    assert out.splitlines()[-1] == f"Log: {demo.BUILD}/demo.log. Nothing was changed."


def test_an_interrupt_ends_what_runs(demo: ModuleType, tmp_path: Path) -> None:
    """It comes when the step has said that it waits for it."""
    program = f'''
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tools")!r})
import demo, steps
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
demo.BUILD = demo.CACHE = Path({str(tmp_path)!r})
command = """trap 'echo ended; exit 3' INT; echo '{{"activity": "waits"}}' >>$FLOWER_PROGRESS; while :; do sleep 0.01; done"""
steps.POLL_INTERVAL = 0.01
demo.Display.show_status = lambda self, text: os.kill(os.getpid(), signal.SIGINT) if "waits" in text else None
demo.Demo.up = lambda self, page: [demo.Step("federation", ["sh", "-c", command])]
sys.exit(demo.main(["up"]))
'''
    environ = {name: value for name, value in os.environ.items() if name not in demo.INVENTORY_VARIABLES}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300, env=environ)
    assert (done.returncode, done.stderr) == (130, "")
    assert [line.partition("Log")[0] for line in done.stdout.splitlines()[1:]] == [
        "1/1 federation: interrupted; waiting for its end (Ctrl-C again kills it)",
        "Interrupted. ",
    ]
    assert "'make demo-down' removes what there is" in done.stdout
    assert "ended" in (tmp_path / "demo.log").read_text()


def test_down_has_a_log_of_its_own(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("VERBOSE", "1")
    status, out = run(demo, monkeypatch, capsys, [demo.Step("removal", ["echo", "printed"])], "down")
    assert status == 0
    assert out.splitlines()[1:] == ["printed", "1/1 removal: 0 s", "The demo is gone after 0 s. Packages and caches are kept."]
    assert "printed" in (demo.BUILD / "demo-down.log").read_text()


# ---- what is written of it --------------------------------------------------------------------------------------

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "docsite" / "rst").glob("*.rst"))]


@each_row("page", [one for one in PAGES if "-i inventories/demo" in one.read_text(encoding="utf-8")])
def test_pages_with_commands_on_the_demo_say_which_kubeconfig_it_has(page: Path) -> None:
    """The inventory names none; C(FLOWER_FLEET_KUBECONFIG), which it reads, would have C(make demo-down) keep the clusters."""
    text = page.read_text(encoding="utf-8")
    assert "$ export KUBECONFIG=$(sh tests/fleet/fleet kubeconfig)" in text or "docsite.guide_start.demo>`" in text


def test_readme_prepares_a_shell_as_the_demo_says(demo: ModuleType) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [line for line in demo.shell_lines(demo.Demo("", ""), {}) if line not in text] == []


# ---- its recording ----------------------------------------------------------------------------------------------

RECORDING = ROOT / "docs" / "images" / "demo.cast"
PICTURE = ROOT / "docs" / "docsite" / "rst" / "images" / "demo.svg"


def test_the_picture_shows_what_the_demo_prints(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """If not, C(make demo-recording) renews it."""
    steps = [dataclasses.replace(step, command=["true"]) for step in demo.Demo("", "").up(Path("page"))]
    _status, out = run(demo, monkeypatch, capsys, steps)
    texts = [(element.get("class"), element.text or "") for element in ElementTree.parse(PICTURE).findall(".//{*}text")]
    last = [re.sub(r"\b(\d+ min )?\d+ s\b", "0 s", text) for kind, text in texts if kind == "last"]
    printed = [line.replace(str(demo.BUILD), "build") for line in out.splitlines() if line]
    assert [line for line in printed if not any(text.startswith(line) for text in last)] == []
    assert list(fleet_table._COLUMNS) in [re.split(" {2,}", text) for text in last]
    assert max(len(text) for _kind, text in texts) <= 100 and len(last) < 40, "the terminal is larger"


def test_the_picture_is_drawn_from_the_recording(demo: ModuleType) -> None:
    """C(python tools/recording.py draw) renews it."""
    picture = PICTURE.read_text(encoding="utf-8")
    assert importlib.import_module("recording").draw(RECORDING.read_text(encoding="utf-8")) == picture
    assert len(picture) <= 150_000


def test_the_recording_does_not_show_the_machine() -> None:
    text = RECORDING.read_text(encoding="utf-8")
    assert re.findall(r"://|/root|/home|/tmp|~|\.local\b", text) == []
    assert {address.rpartition(".")[0] for address in re.findall(r"\d+\.\d+\.\d+\.\d+", text)} <= {"10.97.0"}, "addresses of the fleet"


@pytest.mark.parametrize("page", ["README.md", "docs/docsite/rst/guide_start.rst"])
def test_pages_show_the_picture(page: str) -> None:
    assert "images/demo.svg" in (ROOT / page).read_text(encoding="utf-8")
