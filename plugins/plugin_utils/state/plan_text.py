# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan: the changes that a run in check mode found, as a text to review, to keep and to compare. Pure.

The first line names the federation. Then there is a paragraph for each change: C(HOST: CHANGE OBJECT) with the difference indented below it, or
C(HOST: WORDS) for anything else. The same fleet and inventory give the same text. So what differs each time (keys, certificates and ports that
do not exist yet, and digests of them) is replaced by words, and secret values are not in it.
"""

from __future__ import annotations

import datetime
import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.plain_data import canonical
from ..pki import certificates
from .audit_notes import Note

HEAD = "# Plan of federated.flower "
_LATER = "(made when the plan is applied)"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")
_NEW = certificates.BACKDATE + datetime.timedelta(hours=1)  # a certificate that this run made is not older
_MASKED = re.compile(r"\(masked [0-9a-f]{8}\)")  # see apply.mask
_CHOSEN = re.compile(r"(?<=clusterIP: ).*|(?<=odePort: ).*|(?<=clusterIPs:\n)(?: *- .*\n)+")  # of a new Service
_DIGEST = re.compile(r"\b[0-9a-f]{10,16}\b")
# Parts of a fact for the audit trail that differ each time.
_VOLATILE = ("fingerprint", "node_id", "not_after", "public_key", "serial", "sha256", "change")


def difference(entry: Mapping[str, str]) -> list[str]:
    """The lines of a unified diff; none for an object that is deleted.

    Args:
        entry: C(before) and C(after), of Ansible's C(diff) (C(apply.diff.entry)).
    """
    before = entry["before"]
    present = {pem[0] for pem in _CERTIFICATE.finditer(before)}
    after = _CERTIFICATE.sub(lambda pem: _LATER if pem[0] not in present and _is_new(pem[1]) else pem[0], entry["after"])
    known = set(_MASKED.findall(before))
    after = _MASKED.sub(lambda mark: "(secret)" if mark[0] in known else "(new secret)", after)
    before = _MASKED.sub("(secret)", before)
    if not before:
        after = _CHOSEN.sub(lambda text: "(chosen)" + "\n" * text[0].endswith("\n"), after)
    return [*difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="")][2:] if after else []


def _is_new(body: str) -> bool:
    """Whether a certificate was made a moment ago, in this run, to find out what would be applied."""
    lines = re.sub(r"\\n|[\s\\]", "", body)
    try:
        begun = certificates.describe(f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")["not_before"]
    except certificates.UNREADABLE:
        return False
    return datetime.datetime.fromisoformat(begun) > datetime.datetime.now(datetime.timezone.utc) - _NEW


def write(title: str, notes: Iterable[Note], failed: Iterable[str] = ()) -> str:
    """The text of a plan.

    Args:
        notes: what the actions of the run noted: C(site) and C(facts), with the kind C(diff), entries of Ansible's, besides those of C(audit_notes.py).
        failed: hosts that could not be examined.
    """
    changes: dict[tuple[str, str], str] = {}
    differences: dict[tuple[str, str], list[str]] = {}
    found = {f"{host}: could not be checked, so nothing is planned for it" for host in failed}
    for note in notes:
        for kind, facts in note["facts"].items():
            for fact in facts:
                if kind == "diff":
                    differences[note["site"], fact["after_header"].removesuffix(" (absent)")] = difference(fact)
                elif kind == "objects":
                    changes.setdefault((note["site"], fact["object"]), fact["change"])
                else:
                    found.add(f"{note['site']}: {_words(kind, fact)}")
    for (host, name), change in changes.items():
        found.add("\n    ".join([f"{host}: {change} {name}", *differences.get((host, name), ())]))
    text = "\n\n".join([f"{HEAD}for {title}", *sorted(found)]) + "\n"
    if _LATER in text:
        # Names and annotations that are digests of what is not known yet.
        known = {digits for line in text.split("\n") if line[:5] in ("     ", "    -") for digits in _DIGEST.findall(line)}
        text = _DIGEST.sub(lambda digits: digits[0] if digits[0] in known else "*", text)
    return text


def _words(kind: str, fact: Any) -> str:
    if not isinstance(fact, Mapping):
        return " ".join(str(fact).split())
    parts = [f"{name} {value if isinstance(value, str) else canonical(value)}" for name, value in sorted(fact.items()) if name not in _VOLATILE]
    return " ".join([kind, str(fact.get("change", "")), *parts]).replace("\n", " ")


def paragraphs(text: str) -> list[str]:
    """The changes of a plan."""
    return text.rstrip("\n").split("\n\n")[1:]


def sha256(text: str) -> str:
    """The hash that identifies a plan: that of its file."""
    return hashlib.sha256(text.encode()).hexdigest()


def unplanned(planned: str, present: str) -> list[str]:
    """What of the present is not in a plan, a sentence for each change; none if all that is left to do was planned."""
    title, now = (text.partition("\n")[0] for text in (planned, present))
    if title != now:
        return [f"it is {title.removeprefix('# ')}, and this is {now.removeprefix(HEAD)}"]
    known = paragraphs(planned)
    heads = {_head(one) for one in known}
    return [f"{_head(one)} {'in another way' if _head(one) in heads else 'is not planned'}" for one in paragraphs(present) if one not in known]


def _head(paragraph: str) -> str:
    return paragraph.partition("\n")[0]


def heads(changes: Sequence[str]) -> list[str]:
    """The first line of each change."""
    return [_head(one) for one in changes]
