# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks whose tasks run on every host do not read the variables of all hosts in them: with 1000 sites that is a million evaluations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
HUB_ONLY = "__rbac_hub | bool"


def tasks_of(entries: list[Any]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        inner = [one for name in ("block", "rescue", "always") for one in entry.get(name, [])]
        yield {key: value for key, value in entry.items() if key not in ("block", "rescue", "always")}
        yield from tasks_of(inner)


@pytest.mark.parametrize("name", ["rbac", "openshift_projects"])
def test_only_the_hub_reads_the_variables_of_all_hosts(name: str) -> None:
    (play,) = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text(encoding="utf-8"))
    texts = {variable: str(value) for variable, value in play["vars"].items()}
    wide = {variable for variable, text in texts.items() if "hostvars" in text}
    while more := {variable for variable, text in texts.items() if set(re.findall(r"\w+", text)) & wide} - wide:
        wide |= more
    for task in tasks_of(play["tasks"]):
        if task.get("when") == HUB_ONLY:
            continue
        used = set(re.findall(r"\w+", str(task)))
        assert not used & {"hostvars", *wide}, task["name"]
