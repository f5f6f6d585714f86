# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One planned object: what identifies it, what it is bound to, and what people see of it. Pure.

An object is bound to what is live (uid, and a digest of its content; of a Secret the resource version, which only a write changes), and to
what is applied (a digest of it). What depends on a key, a certificate or an address that does not exist yet is marked C(later) and bound to
its name and its change alone. No digest covers a secret value: short ones could be guessed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..apply import diff
from ..apply.compare import content
from ..apply.content import content_digest
from ..apply.mask import Mask, without_secrets
from ..apply.order import Id
from ..apply.watching import Step
from ..base.digests import digest
from . import pod_changes

Entry = dict[str, Any]

_MADE_LATER = "(made when the plan is applied)"
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_CERTIFICATE = re.compile(f"{_BEGIN}.*?{_END}", re.DOTALL)
# Names that Open Cluster Management's configurations get from their content.
_DIGEST_NAME = re.compile(r"-[0-9a-f]{12}$")
_DIGESTS = re.compile(r"(?=(-[0-9a-f]{12}))")
_MARK = "object "
# What the API server chooses for a Service, another one in each dry run.
_CHOSEN = ("clusterIP", "clusterIPs")


class _Compared(Mask):
    """Masks the secrets of an object before and after a change, so that only the fact of a difference is seen."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, Any] = {}
        self._first = True

    def turn(self) -> None:
        """The next object is the one after the change."""
        self._first = False

    def marker(self, where: str, value: Any) -> str:
        """What is shown instead of a value."""
        if self._first:
            self._seen[where] = value
            return "(secret)"
        return "(secret)" if self._seen.get(where) == value else "(another secret)" if where in self._seen else "(new secret)"


class StandIns:
    """Texts that stand in for what does not exist yet. A plan of many sites has thousands, so an object is not searched for each of them.

    Args:
        texts: those that are known at the beginning.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._all: set[str] = set()
        self._bodies: set[str] = set()
        # By what every text has that contains one of them: its first certificate, or the digest at the end of a name.
        self._certificates: dict[str, list[str]] = {}
        self._names: dict[str, list[str]] = {}
        self._others: list[str] = []
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add one: a certificate, the name of an object that comes from its content, a mark (C(mark_of)), or another text."""
        if text in self._all:
            return
        self._all.add(text)
        certificate, digits = _CERTIFICATE.match(text), _DIGEST_NAME.search(text)
        if text.startswith(_MARK):
            return
        if certificate:
            self._bodies.add(_body(text))
            self._certificates.setdefault(certificate[0], []).append(text)
        elif digits:
            self._names.setdefault(digits[0], []).append(text)
        else:
            self._others.append(text)

    def __contains__(self, text: str) -> bool:
        return text in self._all

    def within(self, text: str) -> list[str]:
        """Those that a text contains."""
        likely = [*self._others]
        if self._certificates:
            likely += [one for block in dict.fromkeys(_CERTIFICATE.findall(text)) for one in self._certificates.get(block, ())]
        if self._names:
            likely += [one for digits in dict.fromkeys(_DIGESTS.findall(text)) for one in self._names.get(digits, ())]
        return [one for one in likely if one in text]

    def without(self, text: str) -> str:
        """A text without them: of a certificate all of it."""
        text = _CERTIFICATE.sub(lambda match: _MADE_LATER if _body(match[0]) in self._bodies else match[0], text)
        for one in self.within(text):
            if not one.startswith(_BEGIN):
                text = text.replace(one, _DIGEST_NAME.sub("-*", one) if _DIGEST_NAME.search(one) else _MADE_LATER)
        return text


_NONE = StandIns()


def entry(step: Step, stand_ins: StandIns = _NONE) -> Entry:
    """The entry of an object that would be written.

    Args:
        step: what would be done.
        stand_ins: texts that stand in for what does not exist yet.
    """
    later = step.desired is not None and (
        mark_of(step.host, step.which) in stand_ins or any(stand_ins.within(text) for text in _texts(step.desired))
    )
    after = None if step.desired is None else _after(step)
    found = {
        "cluster": step.host,
        "object": _shown_name(step, later),
        "api": step.api_version,
        "change": step.change,
        "uid": str((step.live or {}).get("metadata", {}).get("uid", "")),
        "was": state(step.live),
        "becomes": "" if later else becomes(step.desired),
        "sha256": "" if later or step.desired is None else content_digest(step.desired),
        "later": later,
        "pods": pod_changes.words(step.live, after),
        "diff": _difference(step, after, stand_ins if later else _NONE),
    }
    return found | ({"for": [step.serves]} if step.serves != step.host else {})


def mark_of(host: str, which: Id) -> str:
    """What is among the stand-ins for an object that depends on something unknown without containing it."""
    return f"{_MARK}{which} of {host}"


def state(live: Mapping[str, Any] | None) -> str:
    """What an entry is bound to of a live object; empty for none."""
    if live is None:
        return ""
    if live.get("kind") == "Secret":
        return f"resourceVersion {live['metadata'].get('resourceVersion', '')}"
    return digest(content(live))


def becomes(desired: Mapping[str, Any] | None) -> str:
    """What an entry is bound to of what is applied; empty for an object that is deleted."""
    return "" if desired is None else digest(without_secrets(desired))


def name_of_digest(step: Step) -> str:
    """The name of an object if it comes from its content, else empty."""
    return step.which.name if _DIGEST_NAME.search(step.which.name) else ""


def folded_name(step: Step) -> str:
    """How an object is named in an entry whose content is not known yet."""
    return _DIGEST_NAME.sub("-*", str(step.which))


def _shown_name(step: Step, later: bool) -> str:
    return folded_name(step) if later and step.change == "created" else str(step.which)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _after(step: Step) -> Mapping[str, Any] | None:
    """The object after the change: with the defaults of the API server where there is one to compare with, but without what it chooses."""
    if step.live is None or step.now is None:
        return step.desired
    if step.now.get("kind") != "Service":
        return step.now
    spec, was = dict(step.now.get("spec") or {}), step.live.get("spec") or {}
    for name in _CHOSEN:
        if name not in was:
            spec.pop(name, None)
    known = {port.get("nodePort") for port in was.get("ports") or []}
    known |= {port.get("nodePort") for port in ((step.desired or {}).get("spec") or {}).get("ports") or []}
    spec["ports"] = [
        {key: value for key, value in port.items() if key != "nodePort" or value in known} for port in spec.get("ports") or []
    ]
    return {**step.now, "spec": spec}


def _difference(step: Step, after: Mapping[str, Any] | None, stand_ins: StandIns) -> str:
    mask = _Compared()
    before = step.live if after is not None else None  # of an object that is deleted its name says enough
    texts = diff.entry(step.which, before, None, mask)["before"], ""
    mask.turn()
    texts = texts[0], diff.entry(step.which, None, after, mask)["after"]
    lines = difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), "", "", n=3, lineterm="")
    return stand_ins.without("\n".join([line.rstrip() for line in lines][2:]))


def _body(pem: str) -> str:
    """The base64 of a certificate, also of one in a diff: its lines have a sign in front, and those of the certificate before are among them."""
    lines = pem.replace(_BEGIN, "").replace(_END, "").splitlines()
    return re.sub(r"[\s+]", "", "".join(line for line in lines if not line.startswith("-")))


def objects(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All objects of a plan."""
    return [found for one in content["clusters"].values() for found in one.get("objects", [])]
