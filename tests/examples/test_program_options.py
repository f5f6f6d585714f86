# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The options of Flower's programs that the collection knows are Flower's own, and arguments are read alike."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.checks import program_options

PROGRAMS = {
    "flwr.superlink.cli.flower_superlink:flower_superlink": (program_options.SUPERLINK,),
    "flwr.supernode.cli.flower_supernode:flower_supernode": (program_options.SUPERNODE,),
    "flwr.supercore.cli.flower_superexec:flower_superexec": (program_options.SERVERAPP, program_options.CLIENTAPP),
}
WORDS = ["--help", "--ver", "--insec", "--", "word", "-h", "", "--no-such=1", "--max-r", "--max", "--max-retries=3", "--log-f", "--log-file=/x y", "--log",
         "--superl", "--node-c", "--executor-c", "--executor=none", "--port", "7", "-1", "--host=a", "--appio", "--fleet-api-t", "--root-cert=/x"]  # fmt: skip


class Stop(Exception):
    """Carries a parser out of a program."""


def parser_of(place: str, monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The parser of a program."""

    def caught(self: argparse.ArgumentParser, *_given: Any, **_more: Any) -> Any:
        raise Stop(self)

    module, _colon, function = place.partition(":")
    with monkeypatch.context() as patched:
        patched.setattr(argparse.ArgumentParser, "parse_args", caught)
        with pytest.raises(Stop) as stopped:
            getattr(importlib.import_module(module), function)()
    parser: argparse.ArgumentParser = stopped.value.args[0]
    return parser


@pytest.mark.parametrize("place", PROGRAMS)
def test_options_are_flowers_own(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = {option for action in parser_of(place, monkeypatch)._actions for option in action.option_strings if option.startswith("--")}
    for program in PROGRAMS[place]:
        assert {*program.owned, *program.free} == theirs


@pytest.mark.parametrize("place", PROGRAMS)
def test_what_is_accepted_is_accepted_by_flower(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = parser_of(place, monkeypatch)
    for program in PROGRAMS[place]:
        for first in WORDS:
            for second in (None, *WORDS):
                given = [word for word in (first, second) if word is not None]
                if list(program_options.argument_problems(given, program, program_options.NEWEST)):
                    continue
                needed = ["--runtime-api-address=x"] if "superexec" in place else []
                parser.parse_args([*needed, *given])
