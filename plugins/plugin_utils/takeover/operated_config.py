# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which node configs of flower-operator arrive at apps today as they are written. Pure.

The operator puts values into the text of a shell, and escapes nothing. Where that loses or changes a value, the SuperNode of this
collection gets what is written, which is another value than the app knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"\{(?:index|node)\}[A-Za-z0-9_]")
_BRACES = re.compile(r"\{\s*[A-Za-z_]\w*\s*\}")
_NUMBER_LIKE = re.compile(r"[+-]?0\d+")
_COUNTS = ("{index}", "{replicas}")
_KNOWN = ("{index}", "{replicas}", "{node}", "{pool}")
_SET = re.compile(r"\$\((?:KUBERNETES_|POD_NAME\)|FLOWER_NODE_NAME\)|HOSTNAME\))")  # kubelet leaves $(NAME) where it knows no such variable
_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_FLAGS = ("true", "false")


def changes(config: Mapping[str, str], *, daemon: bool, pool: str) -> dict[str, str]:
    """Key -> how its value arrives otherwise with the operator; empty if all arrive as they are written."""
    values = {str(key): str(value) for key, value in config.items()}
    if daemon and any(one in value for value in values.values() for one in _COUNTS):
        return {key: "the operator deploys no such DaemonSet" for key, value in values.items() if any(one in value for one in _COUNTS)}
    shell = any(one in value for value in values.values() for one in ("{index}", "{replicas}", "{node}"))
    found = {key: _why(key, value, shell=shell, pool=pool) for key, value in values.items()}
    for key in values:
        if any(other.startswith(f"{key}.") for other in values):
            found[key] = "another key begins with it"
    return {key: why for key, why in found.items() if why}


def _why(key: str, value: str, *, shell: bool, pool: str) -> str:
    if not _KEY.fullmatch(key):
        return "the key is cut, or ends the SuperNode"
    if _NAME.search(value):
        return "the shell reads what follows the placeholder as a part of its variable's name"
    rest = value
    for one in _KNOWN:
        rest = rest.replace(one, "")
    if _BRACES.search(rest):
        return "the operator does not know what is in braces, and leaves it as text"
    written = value.replace("{pool}", pool)
    if _NUMBER_LIKE.fullmatch(written):
        return "it ends the SuperNode: TOML has no numbers with leading zeros"
    if "{pool}" in value and (written in _FLAGS or re.fullmatch(r"[+-]?\d+", written)):
        return "the pool's name becomes a number or a boolean"
    if '"' in rest:
        return "it is cut at the quotation mark"
    if "\\" in rest or "\n" in rest or "\t" in rest or "\r" in rest:
        return "backslashes and line breaks are changed, or end the SuperNode"
    if (shell and re.search(r"[$`]", rest)) or "$$" in rest or _SET.search(rest):
        return "the shell, or kubelet, replaces what follows $"
    return ""
