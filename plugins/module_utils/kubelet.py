# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References to variables in a container's command and args, as the kubelet resolves them.

The rule is Kubernetes' own (third_party/forked/golang/expansion): C($$) becomes C($), C($(NAME)) becomes the value
of the variable or stays as it is when the container has none of that name, any other C($) stays. There is one pass:
values of variables are not expanded again.
"""

from __future__ import annotations

from collections.abc import Mapping


def escape(text: str) -> str:
    """Return text for a container's args that the kubelet turns back into exactly this text."""
    return text.replace("$", "$$")


def reference(name: str) -> str:
    """Return the reference to the variable of this name for a container's args."""
    return f"$({name})"


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return the argument as the process receives it, given the variables of its container.

    One corner is not imitated: of a lone C($) before a character outside ASCII, Go's code mangles the character.
    Text from escape() never contains one.
    """
    out: list[str] = []
    position = 0
    while True:
        dollar = text.find("$", position)
        if dollar < 0 or dollar + 1 == len(text):
            out.append(text[position:])
            return "".join(out)
        out.append(text[position:dollar])
        following = text[dollar + 1]
        closing = text.find(")", dollar + 2) if following == "(" else -1
        if following == "$":
            out.append("$")
            position = dollar + 2
        elif closing >= 0:
            name = text[dollar + 2 : closing]
            out.append(variables.get(name, reference(name)))
            position = closing + 1
        else:
            # The character after the dollar is consumed with it, hence "$a$(X)" but also "$($(X)" read as they do.
            out.append("$" + following)
            position = dollar + 2
