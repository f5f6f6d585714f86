# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of Flower's programs, and extra arguments as they read them.

Source of the rules: flwr 1.40 to 1.42, whose options are the same, and Python's C(argparse), which takes an unambiguous beginning of an
option for the option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.values import text

NEWEST = (1, 42)  # a later release may have more options
_VALUE = re.compile(r"(?!-)|-\d+$|-\d*\.\d+$|-[^=]* ", re.DOTALL)  # what argparse takes for a value, even with a dash
REMOVED = "is refused by Flower 1.40 and later"
_ENDS, _VOID = "ends the process at once", "has no effect since Flower 1.40"
_COMPLETE = (_ENDS, REMOVED, _VOID)  # reasons that need no introduction
_APPIO = " ".join(f"--{old}ssl-{file}" for old in ("", "appio-") for file in ("ca-certfile", "certfile", "keyfile"))


def _table(*rows: tuple[str, str]) -> dict[str, str]:
    """Option -> why it is refused; of rows with a reason and the options that have it."""
    common = ((_ENDS, "--help --version"), ("the role creates it", "--superexec-auth-secret-file"), ("the probes use it", "--health-server-address"))
    return {option: reason for reason, options in (*common, *rows) for option in options.split()}


SUPERLINK_OPTIONS = _table(
    ("SuperLink listens on 127.0.0.1:8000 behind the gateway", "--host --port"),
    ("use flower_insecure", "--insecure"),
    ("SuperLink has an internal certificate, the public one is the gateway's", _APPIO),
    ("use superlink_isolation", "--isolation"),
    ("the database is stored on the volume of superlink_storage_size", "--database"),
    ("it is on unless flower_insecure is true", "--enable-supernode-auth"),
    ("use superlink_runtime_dependency_installation", "--disable-runtime-dependency-installation --allow-runtime-dependency-installation"),
    ("a SuperLink that simulates SuperNodes serves no sites", "--simulation"),
    (_VOID, "--fleet-api-address --fleet-api-type --control-api-address"),
    (REMOVED, "--auth-list-public-keys --serverappio-api-address"),
)
SUPERNODE_OPTIONS = _table(
    ("use superlink_address", "--superlink"),
    ("use flower_insecure", "--insecure"),
    ("the certificate authority comes from the hub or supernode_ca_bundle", "--root-certificates"),
    ("keys are created and registered by the role", "--auth-supernode-private-key --auth-supernode-public-key"),
    ("use node_config of the pool", "--node-config"),
    ("use supernode_isolation", "--isolation"),
    ("the Runtime API stays on the loopback of the pod", f"--host --port {_APPIO}"),
    ("use supernode_runtime_dependency_installation", "--allow-runtime-dependency-installation"),
    (REMOVED, "--clientappio-api-address"),
)
_FIRST = ("SuperExec is the first process of its container", "--parent-pid")
SERVERAPP_OPTIONS = _table(
    _FIRST,
    ("the ServerApp reaches SuperLink through the gateway", "--runtime-api-address --appio-api-address"),
    ("the gateway's port for the ServerApp uses TLS", "--insecure"),
    ("the internal CA is mounted by the role", "--root-certificates"),
    ("use superlink_runtime_dependency_installation", "--allow-runtime-dependency-installation"),
)
CLIENTAPP_OPTIONS = _table(
    _FIRST,
    ("SuperExec serves one SuperNode, that of its pod or of its number", "--runtime-api-address --appio-api-address"),
    ("the role sets it where the connection stays in the pod", "--insecure"),
    ("the role sets it where the connection leaves the pod", "--root-certificates"),
    ("use supernode_runtime_dependency_installation", "--allow-runtime-dependency-installation"),
)


class Program(NamedTuple):
    """A program of Flower: its command, options that are refused and why, and those that users may set with the form of their values."""

    name: str
    owned: Mapping[str, str]
    free: Mapping[str, Callable[[str], Any]]


_ANY, _COUNT = re.compile(".*", re.DOTALL).fullmatch, re.compile("0*[1-9][0-9]{0,8}").fullmatch
_SUPEREXEC = {"--executor": re.compile("subprocess|kubernetes").fullmatch, "--executor-config": _ANY, "--plugin-type": _ANY}
_LOG = {"--log-file": _ANY, "--log-rotation-interval-hours": _COUNT, "--log-rotation-backup-count": _COUNT}
_RETRY = {"--max-retries": re.compile("[0-9]{1,9}").fullmatch, "--max-wait-time": re.compile(r"[0-9]{1,9}(\.[0-9]*)?").fullmatch, "--trusted-entities": _ANY}
SUPERLINK, SUPERNODE = Program("flower-superlink", SUPERLINK_OPTIONS, _LOG), Program("flower-supernode", SUPERNODE_OPTIONS, _RETRY)
SERVERAPP, CLIENTAPP = (Program("flower-superexec", owned, _SUPEREXEC) for owned in (SERVERAPP_OPTIONS, CLIENTAPP_OPTIONS))


def refusal(option: str, program: Program) -> str:
    """Why an option, or the beginning of one, is left out of a program's arguments; empty if users may set it."""
    if not option.startswith("--") or any(one.startswith(option) for one in program.free):
        return ""
    reason = program.owned.get(option) or next((reason for one, reason in program.owned.items() if one.startswith(option)), REMOVED)
    return reason if reason in _COMPLETE else f"is set by the collection: {reason}"


def argument_problems(arguments: Sequence[Any], program: Program, release: tuple[int, int]) -> Iterator[tuple[int, str, str]]:
    """What a program would not take, and options that the role sets itself.

    Args:
        arguments: texts, as they are added to its command line.
        program: it.
        release: of Flower; one after C(NEWEST) may have options that are not known here.

    Yields:
        Position, option (empty for a word that may be a credential) and why.
    """
    words = [text(argument) for argument in arguments]
    known = {**program.owned, **program.free}
    number = 0
    while number < len(words):
        at, word = number, words[number]
        number += 1
        option, equals, value = word.partition("=")
        if not word.startswith("--") or word == "--":
            short = word[:2] if word[:2] in ("-h", "-V") else ""
            yield at, short, _ENDS if short else f"is neither an option of {program.name} nor the value of one"
            continue
        if not equals and number < len(words) and _VALUE.match(words[number]):
            equals, value = "=", words[number]
            number += 1
        fits = [option] if option in known else [one for one in known if one.startswith(option)]
        reason = program.owned.get(fits[0]) if fits else None
        if len(fits) > 1:
            yield at, option, f"is the beginning of {' and '.join(sorted(fits))}, so that {program.name} does not start"
        elif reason:
            meant = "" if option == fits[0] else f" ({fits[0]})"
            yield at, option, (reason if reason in _COMPLETE else f"contradicts what the role sets: {reason}") + meant
        elif not fits and release <= NEWEST:
            yield at, option, f"is not an option of {program.name}"
        elif fits and not (equals and program.free[fits[0]](value)):
            problem = f"has a value that {program.name} does not accept" if equals else "has no value: it is the next entry, or follows after ="
            yield at, option, problem
