# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that a node lost are asked for again, and a program that failed is not."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod


class Node:
    """Runs what is sent in a process of its own, and loses the end of the output of the first runs."""

    name = "site-a"

    def __init__(self, lost, keep=0):
        self.lost = lost
        self.keep = keep
        self.runs = 0

    def exec(self, namespace, pod, container, command, *, stdin, timeout, on_stdout, silence):
        self.runs += 1
        self.silence = silence
        done = subprocess.run(
            [sys.executable, *command[1:]], input=stdin, capture_output=True, timeout=timeout, check=False
        )
        output = done.stdout if self.runs > self.lost else done.stdout[: self.keep]
        for start in range(0, len(output), 2):
            on_stdout(output[start : start + 2])
        return SimpleNamespace(stdout=b"", stderr=done.stderr, rc=done.returncode)


@pytest.fixture
def program(tmp_path):
    """A program that answers twice and then ends as the request wants."""
    text = (
        "import json, sys\nrequest = json.loads(sys.stdin.readline())\nprint(1)\nprint(2)\n"
        "if request['rc']:\n    sys.exit(request['rc'])\n"
    )
    made = ModuleType("program")
    made.__file__ = str(tmp_path / "program.py")
    (tmp_path / "program.py").write_text(text)
    return made


def run(node, program, rc=0):
    return in_pod.run(node, "flower", "supernode-cpu-0", "supernode", program, {"rc": rc}, seconds=20)


@pytest.mark.parametrize(("lost", "keep"), [(0, 0), (1, 0), (1, 2), (2, 4)])
def test_lost_answers_are_asked_for_again(program, lost, keep):
    node = Node(lost, keep)
    assert run(node, program).answers == ["1", "2"]
    assert node.runs == lost + 1


def test_each_sign_of_life_is_heard(program):
    node, on_output = Node(0), []
    output = in_pod.run(
        node, "flower", "x", "x", program, {"rc": 0}, seconds=20, silence=9, on_output=lambda: on_output.append(1)
    )
    assert output.answers == ["1", "2"] and len(on_output) == 3 and node.silence == 9


def test_a_node_that_loses_everything_is_named(program):
    node = Node(9)
    with pytest.raises(ClusterError, match=r"site-a.*flower/supernode-cpu-0 \(supernode\).*container runtime"):
        run(node, program)
    assert node.runs == 3


def test_a_program_that_failed_is_not_run_again(program):
    node = Node(0)
    output = run(node, program, rc=3)
    assert (output.rc, output.answers, node.runs) == (3, ["1", "2"], 1)
