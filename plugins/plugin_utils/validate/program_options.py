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
_ENDS = "ends the process at once"
_SECRET, _PROBES = "the secret is created by the role", "the probes use it"
_INSTALLS = "use {}_runtime_dependency_installation"
_REMOVED = "Flower 1.40 and later refuse it"


class Program(NamedTuple):
    """A program of Flower.

    Attributes:
        name: its command.
        owned: option that is refused -> why.
        free: option that users may set -> type of its value.
    """

    name: str
    owned: Mapping[str, str]
    free: Mapping[str, Callable[[str], Any]]


def _appio(reason: str) -> dict[str, str]:
    return {f"--{old}ssl-{file}": reason for old in ("", "appio-") for file in ("ca-certfile", "certfile", "keyfile")}


_COMMON = {"--help": _ENDS, "--version": _ENDS, "--superexec-auth-secret-file": _SECRET, "--health-server-address": _PROBES}
_OLD_ADDRESS = "has no effect since Flower 1.40: the gateway is the way in"
SUPERLINK_OPTIONS = {
    **_COMMON,
    "--host": "SuperLink listens on 127.0.0.1, the gateway is the way in",
    "--port": "SuperLink listens on 127.0.0.1:8000, the gateway is the way in",
    "--insecure": "use flower_insecure",
    **_appio("SuperLink has an internal certificate, the public one is the gateway's"),
    "--isolation": "use superlink_isolation",
    "--database": "the database is stored on the volume of superlink_storage_size",
    "--enable-supernode-auth": "it is on unless flower_insecure is true",
    "--disable-runtime-dependency-installation": _INSTALLS.format("superlink"),
    "--allow-runtime-dependency-installation": _INSTALLS.format("superlink"),
    "--simulation": "a SuperLink that simulates SuperNodes serves no sites",
    "--fleet-api-address": _OLD_ADDRESS,
    "--fleet-api-type": _OLD_ADDRESS,
    "--control-api-address": _OLD_ADDRESS,
    **dict.fromkeys(
        ("--auth-list-public-keys", "--serverappio-api-address", "--simulationio-api-address", "--exec-api-address", "--executor",
         "--executor-config", "--executor-dir", "--flwr-dir", "--storage-dir", "--account-auth-config", "--fleet-api-num-workers", "--rest"),
        _REMOVED,
    ),
}  # fmt: skip
SUPERNODE_OPTIONS = {
    **_COMMON,
    "--superlink": "use superlink_address",
    "--insecure": "use flower_insecure",
    "--root-certificates": "the certificate authority comes from the hub or supernode_ca_bundle",
    "--auth-supernode-private-key": "keys are created and registered by the role",
    "--auth-supernode-public-key": "keys are created and registered by the role",
    "--node-config": "use node_config of the pool",
    "--isolation": "use supernode_isolation",
    "--host": "the Runtime API stays on the loopback of the pod",
    "--port": "the Runtime API stays on the loopback of the pod",
    **_appio("the role sets it where the connection to SuperExec leaves the pod"),
    "--allow-runtime-dependency-installation": _INSTALLS.format("supernode"),
    **dict.fromkeys(
        ("--clientappio-api-address", "--rest", "--grpc-rere", "--grpc-adapter", "--flwr-dir", "--server", "--transport"), _REMOVED
    ),
}
_SUPEREXEC = {**_COMMON, "--parent-pid": "SuperExec is the first process of its container", "--flwr-dir": _REMOVED}
SERVERAPP_OPTIONS = {
    **_SUPEREXEC,
    "--runtime-api-address": "the ServerApp reaches SuperLink through the gateway",
    "--appio-api-address": "the ServerApp reaches SuperLink through the gateway",
    "--insecure": "the gateway's port for the ServerApp uses TLS",
    "--root-certificates": "the internal CA is mounted by the role",
    "--allow-runtime-dependency-installation": _INSTALLS.format("superlink"),
}
CLIENTAPP_OPTIONS = {
    **_SUPEREXEC,
    "--runtime-api-address": "SuperExec serves one SuperNode, that of its pod or of its number",
    "--appio-api-address": "SuperExec serves one SuperNode, that of its pod or of its number",
    "--insecure": "the role sets it where the connection stays in the pod",
    "--root-certificates": "the role sets it where the connection leaves the pod",
    "--allow-runtime-dependency-installation": _INSTALLS.format("supernode"),
}


def _executor(value: str) -> str:
    if value not in ("subprocess", "kubernetes"):
        raise ValueError(value)
    return value


def _above_zero(value: str) -> int:
    if int(value) < 1:
        raise ValueError(value)
    return int(value)


_SUPEREXEC_FREE = {"--executor": _executor, "--executor-config": str, "--plugin-type": str}
SUPERLINK = Program(
    "flower-superlink", SUPERLINK_OPTIONS,
    {"--log-file": str, "--log-rotation-interval-hours": _above_zero, "--log-rotation-backup-count": _above_zero},
)  # fmt: skip
SUPERNODE = Program("flower-supernode", SUPERNODE_OPTIONS, {"--max-retries": int, "--max-wait-time": float, "--trusted-entities": str})
SERVERAPP = Program("flower-superexec", SERVERAPP_OPTIONS, _SUPEREXEC_FREE)
CLIENTAPP = Program("flower-superexec", CLIENTAPP_OPTIONS, _SUPEREXEC_FREE)


def argument_faults(arguments: Sequence[Any], program: Program, release: tuple[int, int]) -> Iterator[tuple[int, str, str]]:
    """What a program would not take, and options that the role sets itself.

    Args:
        arguments: texts, as they are added to its command line.
        program: it.
        release: of Flower; one after C(NEWEST) may have options that are not known here.

    Yields:
        Position, option (empty for a word that may be a credential) and why.
    """
    words = [text(argument) for argument in arguments]
    # A removed option is in no parser, so that nothing is the beginning of it.
    known = [one for one in (*program.owned, *program.free) if program.owned.get(one) != _REMOVED]
    number = 0
    while number < len(words):
        at, word = number, words[number]
        number += 1
        option, equals, value = word.partition("=")
        has_value = bool(equals)
        if not has_value and number < len(words) and _VALUE.match(words[number]) and word.startswith("--"):
            has_value, value = True, words[number]
            number += 1
        if not word.startswith("--") or word == "--":
            short = word[:2] in ("-h", "-V")
            yield at, word[:2] if short else "", _ENDS if short else f"is neither an option of {program.name} nor the value of one"
            continue
        fits = [option] if option in program.owned or option in program.free else [one for one in known if one.startswith(option)]
        owned = [one for one in fits if one in program.owned]
        if len(fits) > 1:
            yield at, option, f"is the beginning of {' and '.join(sorted(fits))}, so that {program.name} does not start"
        elif owned:
            reason = program.owned[owned[0]]
            ends = reason.startswith(("ends ", "has ", "Flower "))
            yield at, option, (reason if ends else f"contradicts what the role sets: {reason}") + _meant(option, owned[0])
        elif not fits and release <= NEWEST:
            yield at, option, f"is not an option of {program.name}"
        elif fits and not has_value:
            yield at, option, "has no value: it is the entry after it, or follows after ="
        elif fits:
            try:
                program.free[fits[0]](value)
            except ValueError:
                yield at, option, f"has a value that {program.name} does not take"


def _meant(option: str, meant: str) -> str:
    return "" if option == meant else f" ({meant})"
