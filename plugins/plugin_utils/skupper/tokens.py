# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What became of an AccessToken, and what helps. Pure.

Source of the rules: Skupper 2.2.1. Redeemed is final. A token that was refused is retried every 30 seconds without a limit, and
has the reason in its status. The hub counts a redemption before it creates the certificate, so one that fails there is used up, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import state

# What to do.
WAIT, ANEW, REFUSE, DONE = "wait", "anew", "refuse", "done"

NONE_YET = "there was none"

_HTTP = re.compile(r"failed response: (\d{3})")


class Verdict(NamedTuple):
    """What to do about a token, and why."""

    do: str
    why: str = ""


def judge(
    token: Mapping[str, Any] | None, grant: str, *, linked: bool, secret_in_the_way: str, ours: bool = True
) -> Verdict:
    """What to do about the AccessToken of a site that is not linked.

    Args:
        token: it, live; None when there is none.
        grant: what is known of its grant, for people: "expired: it ended on ...", "deleted".
        linked: whether it led to a Link.
        secret_in_the_way: name of a Secret of someone else with the token's name; else empty.
        ours: whether this collection created the token.
    """
    if secret_in_the_way:
        return Verdict(
            REFUSE,
            f"Secret {secret_in_the_way} exists already, and was not created by this collection: Skupper would not replace it, and "
            "every try would use up a token. Delete it, or give the link another name (skupper_link_name)",
        )
    if token is None:
        return Verdict(ANEW, NONE_YET)
    if not ours:
        return Verdict(
            REFUSE,
            f"{state.named(token)} was created by someone else and has not led to a link. Delete it, or give the link another name "
            "(skupper_link_name)",
        )
    found = state.status(token)
    message = str(found.get("message") or "")
    if "deleted site" in message:
        return Verdict(ANEW, "it was redeemed for a Site that was deleted later")
    if found.get("redeemed") or state.is_true(token, "Redeemed"):
        return Verdict(DONE if linked else ANEW, "" if linked else "it was redeemed, and its Link was deleted later")
    return _failed(message, grant)


def _failed(message: str, grant: str) -> Verdict:
    """A token that is not redeemed, by its message. An empty one: it was not tried yet."""
    if not message or message == "OK":
        return Verdict(WAIT, "the site's controller has not tried it yet")
    if "already exists" in message:
        return Verdict(ANEW, "it conflicted with objects of an earlier token")
    if "No such claim" in message:
        return Verdict(ANEW, f"the hub no longer has its grant ({grant or 'expired or deleted'})")
    if "No such access granted" in message:
        return Verdict(ANEW, "its grant was used up")
    code = _HTTP.search(message)
    if (code and code[1] == "403") or "refused" in message and "connection refused" not in message:
        return Verdict(ANEW, "its code is not that of the grant")
    if code and code[1].startswith("5"):
        return Verdict(ANEW, f"the hub failed to create the certificate ({code[1]}), which used it up")
    return Verdict(WAIT, message)
