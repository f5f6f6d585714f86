# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: what it refuses before it starts anything, where it goes, and what it shows of what it runs."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.unit.read import ROOT

#: What an own kubeconfig has.
CONTEXTS = ["hub", "site-a", "site-b", "kind-one"]
#: As Ansible and the fleet report it.
SITE = """\
{"doing": "Check the hub before anything is changed", "task": "Check the hub"}
{"doing": "Deploy the sites", "task": "federated.flower.supernode : Deploy the SuperNodes"}
{"said": "3 SuperNodes of 2 sites are online at 10.97.0.10:32341."}
"""
RUN = '{"said": ["round 1: accuracy 0.501", "round 2: accuracy 0.628"]}\n'
REPORT = '{"said": ["cluster  region  pool", "hub              superlink"]}\n'
REFUSED = '{"failed": "site-a: the API server does not answer\\nwhy it does not"}\n'


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, with folders of the test and without the environment's clusters."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    module = load("tools/demo.py")
    for name in (*module.OWN, "VERBOSE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(module, "exit_on_signals", lambda: None)
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
    assert demo.asked("", environ).contexts == contexts


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
    assert all(step.playbook for step in [*own.up(Path("page")), *own.down()])
    assert "flower_delete_volumes=true" in own.down()[0].command
    assert [step.command[-1] for step in (fleet.up(Path("page"))[0], *fleet.down())] == ["up", "down"]


@pytest.mark.parametrize("variant", ["", "ocm", "skupper", "study"])
def test_the_steps_name_files_that_exist(demo: ModuleType, variant: str) -> None:
    asked = demo.Demo(variant, "")
    assert (ROOT / asked.inventory).is_dir()
    playbooks = [step.command[3] for step in asked.up(Path("page")) if step.playbook]
    for name in playbooks:
        path = Path(name) if "/" in name else ROOT / "playbooks" / f"{name.removeprefix('federated.flower.')}.yml"
        assert path.is_file()
    assert f"\n{asked.target}: " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_one_demo_can_follow_another() -> None:
    """They share clusters and the federation's name, and a claim cannot shrink."""
    hubs = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("inventories/demo*/group_vars/flower_hub.yml"))]
    assert len(hubs) == 4
    assert len({(hub["superlink_storage_size"], hub.get("superlink_outputs_size")) for hub in hubs}) == 1


# ---- what is shown ----------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def display_of(demo: ModuleType, out: io.StringIO, times: list[float]) -> Any:
    return demo.Display(out, lambda: times.pop(0))


def test_a_terminal_has_one_line_that_is_rewritten(demo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    out = Terminal()
    display = display_of(demo, out, [0.0, 1.0])
    display.present("short")
    display.present("longer than the terminal is wide")
    display.line("done")
    assert out.getvalue() == "\rshort\x1b[K\rlonger than the te…\x1b[K\r\x1b[Kdone\n"


def test_elsewhere_there_is_a_sign_of_life_and_no_control_character(demo: ModuleType) -> None:
    out = io.StringIO()
    display = display_of(demo, out, [0.0, 10.0, 24.0, 25.0, 25.0, 26.0, 49.0, 60.0])
    for number in range(5):
        display.present(str(number))
    display.line("done")
    assert out.getvalue() == "... 2\ndone\n"


def step_of(demo: ModuleType, news: str = "", **options: Any) -> Any:
    """A step that reports what was recorded, and prints something."""
    command = f"printf %s {demo.shlex.quote(news)} >> \"$FLOWER_PROGRESS\"; {options.pop('then', 'echo printed')}"
    return demo.Step(command=["sh", "-c", command], **options)


def lead(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], steps: list[Any], verb: str = "up") -> tuple[int, str]:
    """Exit status and output of the demo with other steps, which count as playbooks if they have recorded news."""
    monkeypatch.setattr(demo.Demo, "up", lambda self, page: steps)
    monkeypatch.setattr(demo.Demo, "down", lambda self: steps)
    status = demo.main([verb])
    out, err = capsys.readouterr()
    assert err == ""
    return status, out


def recorded(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, kubeconfig: str) -> list[Any]:
    monkeypatch.setenv("FLOWER_FLEET_KUBECONFIG", kubeconfig)
    monkeypatch.setattr(demo.Step, "playbook", True)
    return [
        step_of(demo, '{"nodes": {"site-a": {"gpus": {}}, "site-b": {"gpus": {}}}}\n', title="your clusters"),
        step_of(demo, SITE, title="federation"),
        step_of(demo, RUN, title="run", shows=True, then='echo "GPU is $FLOWER_FLEET_GPU"'),
        step_of(demo, REPORT, title="report", shows=True),
    ]


def test_what_a_demo_shows(demo: ModuleType, kubeconfig: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FLOWER_FLEET_CONTEXTS", "kind-one")
    status, out = lead(demo, monkeypatch, capsys, recorded(demo, monkeypatch, kubeconfig))
    log = demo.BUILD / "demo.log"
    assert status == 0
    assert out.splitlines() == [
        f"The output of all steps is in {log}. VERBOSE=1 shows it here.",
        "1/4 your clusters: 0 s",
        "    site-b runs without a GPU: no node of kind-one has nvidia.com/gpu",
        "2/4 federation: 0 s. 3 SuperNodes of 2 sites are online at 10.97.0.10:32341.",
        "3/4 run: 0 s",
        "4/4 report: 0 s",
        "",
        "cluster  region  pool",
        "hub              superlink",
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
    assert "GPU is none" in log.read_text() and "--- 2/4 federation: sh" in log.read_text()
    assert set(json.loads((demo.CACHE / "federated-flower/demo-seconds.json").read_text())) == {"your clusters", "federation", "run", "report"}


def test_the_clusters_of_this_machine(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ansible gets the kubeconfig of the fleet, and the fleet itself none: for it, that is one of other clusters."""
    program = tmp_path / "ansible-playbook"
    program.write_text('#!/bin/sh\necho "$3 with $FLOWER_FLEET_KUBECONFIG"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("FLOWER_FLEET_KUBECONFIG", "")
    monkeypatch.setattr(demo, "fleet", lambda *words: ["sh", "-c", f"echo fleet {' '.join(words)}${{FLOWER_FLEET_KUBECONFIG+, and a variable}}"])
    assert demo.main(["up", "ocm"]) == 0
    printed = [line for line in (demo.BUILD / "demo.log").read_text().splitlines() if line and not line.startswith("---")]
    assert printed == [
        "fleet up", "fleet addon ocm up", "federated.flower.site with fleet kubeconfig", "federated.flower.run with fleet kubeconfig",
        "federated.flower.status with fleet kubeconfig",
    ]  # fmt: skip
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines[1:3] == ["1/5 three Kubernetes clusters: 0 s", "2/5 Open Cluster Management: 0 s"]
    assert lines[-1] == "    make demo-ocm-down" and "    export KUBECONFIG=$(sh tests/fleet/fleet kubeconfig)" in lines


def test_the_present_line_of_a_step(demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done, how long it has taken, and how long it usually takes."""
    monkeypatch.setattr(demo, "BEAT", 0.02)
    seconds = tmp_path / "seconds.json"
    seconds.write_text('{"federation": [84.2, 300, 9, 84.4, 20]}')
    present: list[str] = []
    log = tmp_path / "log"
    log.touch()
    runner = demo.Runner(SimpleNamespace(present=present.append, line=str), demo.Durations(seconds), log, dict(os.environ))
    # It waits until it was seen.
    wait = "while [ -e present ]; do sleep 0.01; done"
    monkeypatch.setattr(demo, "HERE", tmp_path)
    build = '{"doing": "Go build of kubernetes, 640 packages"}\n'
    for step, news in (
        (step_of(demo, SITE, title="federation", then=wait), ": Deploy the sites, task 2, 0 s (usually 1 min 24 s)"),
        (step_of(demo, build, title="clusters", first="5 min", then=wait), ": Go build of kubernetes, 640 packages, 0 s (usually 5 min)"),
        (step_of(demo, title="run", live=r"\| (round .*)", then=f"echo 'hub | round 1: 0.5'; {wait}"), ": round 1: 0.5, 0 s"),
    ):
        news = f"1/2 {step.title}{news}"
        (tmp_path / "present").touch()

        def see(text: str, news: str = news) -> None:
            present.append(text)
            if text == news:
                (tmp_path / "present").unlink(missing_ok=True)

        runner.display.present = see
        runner.run(step, "1/2")
        assert news in present
    known = json.loads(seconds.read_text())["federation"]
    assert known[:4] == [300, 9, 84.4, 20] and known[4] < 10


@pytest.mark.parametrize(
    ("news", "then", "shown"),
    [
        (REFUSED, "exit 2", ["    site-a: the API server does not answer", "    why it does not"]),
        ("", "printf 'first\\n\\nERROR! the last line\\n'; exit 4", ["    first", "    ERROR! the last line"]),
    ],
)
def test_a_step_that_fails(
    demo: ModuleType, news: str, then: str, shown: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = lead(demo, monkeypatch, capsys, [step_of(demo, news, title="federation", then=then), step_of(demo, title="run")])
    assert status == 1
    assert out.splitlines()[1:] == [
        "1/2 federation: failed after 0 s",
        *shown,
        f"Log: {demo.BUILD}/demo.log. 'make demo' continues from here, 'make demo-down' removes what there is on the clusters.",
    ]
    assert not (demo.CACHE / "federated-flower").exists(), "its time says nothing of the next one"
    status, out = lead(demo, monkeypatch, capsys, [step_of(demo, news, title="your clusters", then=then, changes=False)])
    assert status == 1
    assert out.splitlines()[-1] == f"Log: {demo.BUILD}/demo.log. Nothing was changed."


def test_an_interrupt_ends_what_runs(demo: ModuleType, tmp_path: Path) -> None:
    """It comes when the step has said that it waits for it."""
    program = f'''
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tools")!r})
import demo
demo.BUILD = demo.CACHE = Path({str(tmp_path)!r})
step = """trap 'echo ended; exit 3' INT; echo '{{"doing": "waits"}}' >>$FLOWER_PROGRESS; while :; do sleep 0.01; done"""
demo.BEAT = 0.01
demo.Display.present = lambda self, text: os.kill(os.getpid(), signal.SIGINT) if "waits" in text else None
demo.Demo.up = lambda self, page: [demo.Step("federation", ["sh", "-c", step])]
sys.exit(demo.main(["up"]))
'''
    environ = {name: value for name, value in os.environ.items() if name not in demo.OWN}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30, env=environ)
    assert (done.returncode, done.stderr) == (130, "")
    assert [line.partition("Log")[0] for line in done.stdout.splitlines()[1:]] == [
        "1/1 federation: interrupted; waiting for its end (Ctrl-C again kills it)",
        "Interrupted. ",
    ]
    assert "'make demo-down' removes what there is" in done.stdout
    assert "ended" in (tmp_path / "demo.log").read_text()


def test_verbose_shows_all(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("VERBOSE", "1")
    status, out = lead(demo, monkeypatch, capsys, [step_of(demo, SITE, title="removal")], "down")
    assert status == 0
    assert out.splitlines()[1:3] == ["printed", "1/1 removal: 0 s. 3 SuperNodes of 2 sites are online at 10.97.0.10:32341."]
    assert "printed" in (demo.BUILD / "demo-down.log").read_text()


# ---- what reports -----------------------------------------------------------------------------------------------


def test_what_a_playbook_reports(demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_PROGRESS", str(tmp_path / "progress"))
    callback = load("tools/demo_callback/demo_progress.py").CallbackModule()

    def result(action: str, **data: Any) -> Any:
        return SimpleNamespace(task=SimpleNamespace(action=action), host=SimpleNamespace(get_name=lambda: "hub"), result=data)

    callback.v2_playbook_on_play_start(SimpleNamespace(get_name=lambda: "Deploy the hub"))
    callback.v2_playbook_on_task_start(SimpleNamespace(get_name=lambda: "Apply"), False)
    callback.v2_runner_on_ok(result("federated.flower.apply", msg="applied"))
    callback.v2_runner_on_ok(result("ansible.builtin.debug", msg="3 are online"))
    callback.v2_runner_on_ok(result("federated.flower.node_info", sites={"site-b": {"gpus": {"nvidia.com/gpu": 4}}}))
    callback.v2_runner_on_ok(result("federated.flower.supernode_info", sites={"site-b": {"reachable": True}}))
    callback.v2_runner_on_failed(result("ansible.builtin.command", msg="is of no importance"), ignore_errors=True)
    callback.v2_runner_on_failed(result("federated.flower.apply", msg="hub: refused"))
    callback.v2_runner_on_unreachable(result("federated.flower.apply", msg="no connection"))
    news = demo.News()
    for line in (tmp_path / "progress").read_text().splitlines():
        news.take(line)
    assert news == demo.News(
        "Deploy the hub", 1, ["3 are online"], ["hub: refused", "hub: no connection"], {"site-b": {"gpus": {"nvidia.com/gpu": 4}}}
    )


def test_what_the_fleet_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests/fleet"))
    from flower_fleet import cli, console

    monkeypatch.setenv("FLOWER_PROGRESS", str(tmp_path / "progress"))
    monkeypatch.setenv("FLOWER_FLEET_KUBECONFIG", str(tmp_path / "missing"))
    monkeypatch.setattr(cli, "_leave", sys.exit)
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit):
        cli.main(["up"])
    assert json.loads((tmp_path / "progress").read_text())["failed"] in capsys.readouterr().err
    shown = console.Console()
    with shown.phase("Go build of kubernetes") as phase, shown.phase("image flower"):
        phase.note = "640 packages"
        assert shown.doing() == "Go build of kubernetes, 640 packages; image flower"


# ---- what is written of it --------------------------------------------------------------------------------------

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "docsite" / "rst").glob("*.rst"))]


@pytest.mark.parametrize("page", [one for one in PAGES if "-i inventories/demo" in one.read_text(encoding="utf-8")], ids=lambda page: page.name)
def test_pages_with_commands_on_the_demo_say_which_kubeconfig_it_has(page: Path) -> None:
    """The inventory names none; C(FLOWER_FLEET_KUBECONFIG), which it reads, would have C(make demo-down) keep the clusters."""
    text = page.read_text(encoding="utf-8")
    assert "$ export KUBECONFIG=$(sh tests/fleet/fleet kubeconfig)" in text or "docsite.guide_start.demo>`" in text


@pytest.mark.parametrize("page", ["README.md", "docs/docsite/rst/guide_start.rst"])
def test_pages_prepare_a_shell_as_the_demo_says(demo: ModuleType, page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [line for line in demo.shell_lines(demo.Demo("", ""), {}) if line not in text] == []
