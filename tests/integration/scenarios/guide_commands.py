# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of README.md and the guides that a scenario runs, what they need in the working directory, and how their output is compared.

Every command of a page of the series is run, and every line of its output is compared, unless a table here has it with the reason.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import pyrage

from ansible_collections.federated.flower.tests.unit.guide_blocks import BLOCKS, COMMANDS, Command
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file

_SECTIONS = yaml_file("docs", "docsite", "extra-docs.yml")["sections"]
#: Pages in the order in which operators and data scientists read them.
SERIES = ["README.md", *(f"{name}.rst" for section in _SECTIONS[:2] for name in section["toctree"]), "guide_plan.rst"]
#: The command that is run when the pages are through.
LAST = "federated.flower.teardown -e flower_teardown=true"

#: Reason -> parts of commands that are not run.
NOT_RUN = {
    "it installs something, or makes images": ("make demo", "python3 -m venv", "pip install", "ansible-galaxy ", "age-keygen", "podman ", " ~/.ansible"),
    "the test sets these variables": ("export ",),
    "another page has the same": (
        "inventories/demo federated.flower.run -e flower_app=$PWD/examples/quickstart",  # guide_run
        "fleet federated.flower.teardown --limit site-b",  # README.md
        "examples/quickstart -e flower_outputs_directory=outputs",  # README.md
    ),
    "it needs another inventory: test_03_sites, test_23_ownership": ("flower_forget_sites", "flower_claim_sites"),
    "it needs another release: test_operation, test_33_upgrade": ("federated.flower.upgrade",),
    "it needs an empty hub: test_operation, test_30_backup": ("federated.flower.restore",),
    "it needs the hash of the plan: test_44_plan": ("flower_plan_hash=",),
    "the tests use the API: test_30_backup, test_46_backup_cronjob, test_49_schedule": ("kubectl ", "cd examples/backup-cronjob"),
    "it needs an app of the reader: test_24_datasets, test_25_outputs, test_25_packages": ("flower_app=apps/",),
    "it needs a run that failed after a round: test_26_resume": ("flower_run_resume",),
    "it needs a bucket: test_49_object_storage": ("-i inventory.yml",),
    "it needs a port that is forwarded: test_13_rights": ("flwr ",),
    "it needs images with scikit-learn: test_27_study": ("-i inventories/demo-study", "examples/tabular", "ansible-playbook …"),
}
#: Reason -> parts of lines of output that are not compared.
NOT_COMPARED = {
    "all clusters answer": ("site-c",),
    "the fleet has other runs": (
        "behind 9915798441516665790", "running    0:04:31", "failed     0:00:01", "3 of 12 runs", "me/tumour", "would delete the outputs of",
        "outputs of 2 runs",
    ),
    "the pages have a fleet with names of sites in node configs, and three rounds": ("(3 nodes, 1800 examples", " in 3 rounds"),
    "the run may be read later": (": starting, ",),
    "logs differ": ("Connection attempt failed", "Proxy sites stopped"),
}  # fmt: skip


def has(parts: Iterable[Iterable[str]], text: str) -> bool:
    """Whether a text has one of the parts of a table."""
    return any(part in text for listed in parts for part in listed)


def to_run(page: str) -> list[Command]:
    """The commands of a page that are run."""
    return [one for one in COMMANDS if one.block.page == page and not has(NOT_RUN.values(), one.text)]


def comparable(text: str) -> str:
    """A text without what differs from run to run: numbers, ids, times, paths, regions, quotes, stars, and how it is folded."""
    text = re.sub(r"[KMGT]iB\b", "iB", text)
    text = re.sub(r"\S*(?:\d|/\w[^\s/]*/)\S*", "#", text)
    return " ".join(re.sub(r"\b(?:eu|us)\b|['\"*]", "", text).split())


def not_shown(command: Command, printed: str) -> list[str]:
    """The lines that the page shows below a command, and that it did not print. A line may be left out, or cut, with dots."""
    whole = comparable(printed)
    lines = [line for line in command.output if not has(NOT_COMPARED.values(), line)]
    return [line for line in lines if not all(comparable(part) in whole for part in re.split(r"…|\.\.\.", line))]


def example(page: str, language: str, words: str) -> str:
    """The first example of a page with these words."""
    return next(block.text for block in BLOCKS if (block.page, block.language) == (page, language) and words in block.text)


def prepare(folder: Path, kubeconfig: Path) -> None:
    """Make a folder as the pages say that the reader has one: inventories, C(ansible.cfg) and the app, which trains one round here."""
    backups, app = folder / "backups", folder / "examples" / "quickstart"
    key = pyrage.x25519.Identity.generate().to_public()
    files = {
        "fleet.yml": example("README.md", "yaml", "flower_hub:"),
        "fleet/01-fleet.yml": example("guide_start.rst", "yaml", "# fleet/01-fleet.yml"),
        "fleet/group_vars/all.yml": f"flower_kubeconfig: {kubeconfig}\nflower_backup_directory: {backups}\nflower_backup_recipients: [{key}]\n",
        "ansible.cfg": example("guide_start.rst", "ini", "inventory = fleet"),
        # Both pages say so for clusters without a load balancer.
        **dict.fromkeys(("group_vars/flower_hub.yml", "fleet/group_vars/flower_hub.yml"), "superlink_exposure: node_port\n"),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    backups.mkdir()
    (folder / "inventories").mkdir()
    (folder / "inventories" / "demo").symlink_to("../fleet")  # one federation serves all pages
    shutil.copytree(ROOT / "examples" / "quickstart", app, ignore=shutil.ignore_patterns("__pycache__"))
    settings = (app / "pyproject.toml").read_text(encoding="utf-8")
    (app / "pyproject.toml").write_text(settings.replace("num-server-rounds = 3", "num-server-rounds = 1"), encoding="utf-8")
