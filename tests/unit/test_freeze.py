# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must not change by accident: what is rendered, sent or stored. C(freeze.yml) has digests of all of it, and the names that others rely on.

Code may move and get other names as long as this passes. Where it fails, the message says what differs and what that does to users. If that was
decided, UPDATE_FREEZE=1 pytest tests/unit/test_freeze.py writes the file anew.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.action import ocm_addon
from ansible_collections.federated.flower.plugins.plugin_utils.actions import hub_certificates
from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SCHEDULES_SET
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import program_text
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import FIELD_MANAGER
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import schedule, skupper, superlink, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import shipped
from ansible_collections.federated.flower.plugins.plugin_utils.sites import bundle_files, direct, direct_certificates
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import controller
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit import example_objects, goldens, stored_records
from ansible_collections.federated.flower.tests.unit.example_objects import digest, digests
from ansible_collections.federated.flower.tests.unit.read import ROOT, role_options
from ansible_collections.federated.flower.tests.unit.specs import CA

Frozen = dict[str, dict[str, str]]

FILE = Path(__file__).with_name("freeze.yml")
HEAD = """\
---
# SPDX-License-Identifier: Apache-2.0
# Written by test_freeze.py, which explains it: the first 16 digits of SHA-256 of what is rendered, sent and stored.
"""
UTILS = ROOT / "plugins" / "plugin_utils"
PROGRAMS = UTILS / "programs"
_KEYS = re.compile(r'"((?:[a-z]+\.)?federated\.flower/[a-z0-9/-]*)"')
_NOT_EXECUTED = ("metrics_program.py", "schedule_program.py", "serverapp_program.py")  # they are in ConfigMaps
_PACKAGE = "ansible_collections.federated.flower.plugins.plugin_utils.programs"
_MOST = 30  # lines of a message


def rendered() -> Frozen:
    """All objects of the golden files, and of each example inventory by each delivery."""
    program = [sys.executable, "-m", example_objects.__name__]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "FLOWER_", "K8S_AUTH_"))
    }
    places = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT.parents[2]),
        "ANSIBLE_DEVEL_WARNING": "false",
    }
    run = subprocess.run(program, env={**kept, **places}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return {**{f"golden {name}": digests(golden(name)) for name in goldens.names()}, **json.loads(run.stdout)}


def golden(name: str) -> list[dict[str, Any]]:
    """The objects of a golden file."""
    return list(yaml.load_all(goldens.read(name), Loader=yaml.CSafeLoader))


def programs() -> Frozen:
    """The exact bytes of all programs."""
    return {
        "in rendered objects": {name: digest(text.encode()) for name, text in sorted(_programs_in(_with_programs()))},
        "sent to sites that make their keys": {path: digest(text.encode()) for path, text in shipped.files().items()},
        "in bundles": {bundle_files.SCRIPT: digest(program_text(bundle_files.SCRIPT).encode())},
        "executed in pods": {**dict(_executed()), "wait for a sidecar": digest(direct_certificates._LOADED.encode())},
    }


def _with_programs() -> list[dict[str, Any]]:
    """A hub and a site that have all programs that objects can have; golden files have short texts for some."""
    hub = HubSpec.parse({**_defaults("superlink"), "metrics": {"enabled": True, "runs": True}})
    each = {"name": "each", "mode": "DaemonSet", "node_config": {}}
    site = _site(
        pools=[each, *_defaults("supernode")["pools"]], packages_report=True, http_proxy={"address": "proxy:3128"}
    )
    settings = {"timeout": 0, **dict.fromkeys(("cron", "timezone", "suspend", "overlap", "app", "version"), "")}
    calendar = schedule.objects(hub, "one", settings, b"", [])
    return [*superlink.objects(hub), *supernode.objects(site), *calendar]


def _site(**more: Any) -> SiteSpec:
    return SiteSpec.parse({**_defaults("supernode"), "allocation": {}, **more}).complete()


def _defaults(role: str) -> dict[str, Any]:
    found = {name.removeprefix(f"{role}_"): option.get("default") for name, option in role_options(role).items()}
    return {
        **found,
        "cluster": "site-a",
        "superlink_address": example_objects.ADDRESS,
        "ca_bundle": CA,
        "client_certificate": CA,
    }


def _programs_in(objects: Any) -> Iterator[tuple[str, str]]:
    """Commands with a text for an interpreter, and entries of ConfigMaps that are programs, wherever they are in objects; each text once."""
    known: dict[str, str] = {}
    waiting = list(objects)
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            command = one.get("command") or []
            texts = {f"command of {one.get('name')}": command[command.index("-c") + 1]} if "-c" in command else {}
            texts |= {
                name: text
                for name, text in one.items()
                if isinstance(text, str) and (text.startswith("#!") or name.endswith(".py"))
            }
            for name, text in texts.items():
                while known.setdefault(name, text) != text:
                    name += "'"
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    yield from known.items()


def _executed() -> Iterator[tuple[str, str]]:
    """Programs that C(in_pod) executes: what a container gets of each."""

    class Pod:
        name = "hub"

        def exec(
            self, _namespace: str, _pod: str, _container: str, command: list[str], *, stdin: bytes, **_more: Any
        ) -> Any:
            self.sent, self.command = stdin, command
            return type("Result", (), {"rc": 1, "stderr": b""})

    pod = Pod()
    for path in sorted(PROGRAMS.glob("*_program.py")):
        if path.name not in _NOT_EXECUTED:
            in_pod.run(
                pod, "space", "pod", "container", importlib.import_module(f"{_PACKAGE}.{path.stem}"), {}, seconds=1
            )
            yield path.name, digest(json.loads(pod.sent.splitlines()[0]).encode())
    yield "what starts them", digest(pod.command)


def records() -> Frozen:
    """All that outlives a run; and the first bundle of a site, whose program is among C(programs)."""
    stamp = bundle_files.Stamp(1, example_objects.NONCE, stored_records.NOW, "The first version.\n")
    bundle = bundle_files.build(example_objects.draft(_site(delivery="bundle", key_source="site")), stamp, CA)
    texts = {
        path: digest(data) for path, data in bundle.items() if path.removeprefix("program/") not in shipped.files()
    }
    return {
        "stored": {what: digest(one) for what, one in stored_records.stored().items()},
        "bundle": {**texts, "archive of all files": digest(bundle_files.archive("site-a", bundle))},
    }


def names() -> Frozen:
    """Labels, annotations and names by which later runs find what earlier ones created."""
    texts = {text for path in UTILS.rglob("*.py") for text in _KEYS.findall(path.read_text(encoding="utf-8"))}
    sets = [
        hub_certificates.APPLYSET,
        SCHEDULES_SET,
        direct.APPLYSET,
        controller.NAME,
        ocm_addon._SET,
        *map(skupper.applyset, (skupper.SITE, skupper.LINK, skupper.LISTENER)),
    ]
    return {
        "labels and annotations": dict.fromkeys(sorted(texts), "in use"),
        "field manager": {"of server-side apply": FIELD_MANAGER},
        "ApplySets in the namespace flower": {name: applyset.set_id(name, "flower") for name in sets},
    }


SECTIONS: dict[str, tuple[Callable[[], Frozen], str]] = {
    "rendered": (
        rendered,
        "Kubernetes replaces pods whose template or program differs, also while they compute for a run. Sites behind Open Cluster Management, and "
        "those that apply bundles, get a new version of everything.",
    ),
    "programs": (
        programs,
        "A program that is part of an object restarts the pods that have it, even if only a comment changed. Each site that makes its own keys gets a "
        "new job, or a new version of its bundle, which people there must check and apply. What is executed in pods restarts nothing, and must "
        "understand what an earlier release left there.",
    ),
    "records": (
        records,
        "Records of the present release are on users' hubs, and in their backups: a later release that expects another form loses keys, denials, "
        "the audit trail or an upgrade that is under way. Read both forms, and test that.",
    ),
    "names": (
        names,
        "Objects that are deployed have the former name: they are not found, not changed and not removed any more, or count as someone else's.",
    ),
}


def differences(frozen: Frozen, found: Frozen) -> list[str]:
    """What is new, gone or changed, each with the groups in which it is."""
    groups: dict[str, list[str]] = {}
    for group in sorted({*frozen, *found}):
        old, new = frozen.get(group, {}), found.get(group, {})
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                word = "new" if name not in old else "gone" if name not in new else "changed"
                groups.setdefault(f"{word}: {name}", []).append(group)
    return [
        f"{what} ({listed[0]}{f'; and {len(listed) - 1} more' if listed[1:] else ''})"
        for what, listed in groups.items()
    ]


@pytest.mark.parametrize("section", SECTIONS)
def test_nothing_changed_by_accident(section: str) -> None:
    collect, meaning = SECTIONS[section]
    found = collect()
    frozen = yaml.load(FILE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader) if FILE.exists() else {}
    if os.environ.get("UPDATE_FREEZE"):
        assert "PYTEST_XDIST_WORKER" not in os.environ, "each section writes the file: without -n, please"
        for root in (ROOT, Path(os.environ.get("FLOWER_CHECKOUT") or ROOT)):  # the gates run on a copy
            text = HEAD + yaml.safe_dump({**frozen, section: found}, width=1000)
            (root / FILE.relative_to(ROOT)).write_text(text, encoding="utf-8")
        return
    lines = differences(frozen.get(section, {}), found)
    more = [f"… and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    assert not lines, "\n".join(
        [
            f"What is frozen differs ({section}):",
            *lines[:_MOST],
            *more,
            "Only something new is not frozen yet." if all(line.startswith("new:") for line in lines) else f"What this does to users: {meaning}",
            "If it was not intended, undo it. If it was decided, describe it in changelogs/fragments, and let UPDATE_FREEZE=1 pytest tests/unit/test_freeze.py "
            "write tests/unit/freeze.yml anew.",
        ]
    )


def test_each_program_is_frozen() -> None:
    groups = yaml.load(FILE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["programs"].values()
    frozen = {one for group in groups for one in group.values()}
    texts = {path.name: path.read_bytes() for path in PROGRAMS.glob("[a-z]*.*")}
    texts["serverapp_program.py"] = b"#!/usr/bin/env python3\n" + texts["serverapp_program.py"]
    assert [name for name, text in texts.items() if digest(text) not in frozen] == []
