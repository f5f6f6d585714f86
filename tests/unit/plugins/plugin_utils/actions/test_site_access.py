# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A denial at a hub that does not serve would have no effect, and the next copy of the one that serves would delete it."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import site_access
from ansible_collections.federated.flower.plugins.plugin_utils.backup.leadership import ACTIVE, FENCED, STANDBY, Term
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.admission import Admitted
from ansible_collections.federated.flower.plugins.plugin_utils.kube.configmaps import config_map

GROUPS = {"flower_hub": ["hub"], "flower_standby": ["spare"]}


def deny(monkeypatch: pytest.MonkeyPatch, terms: dict[str, Term | None | ClusterError], groups: dict[str, list[str]]) -> dict[str, Any]:
    """What the action returns for the host hub, whose record, and that of the other host, are given."""
    clusters = {}
    for host, term in terms.items():
        data = {"standby.json": term.text()} if isinstance(term, Term) else {}
        item = config_map("demo", "flower", "flower-standby", data, application="flower-standby", component="standby") if data else None
        clusters[host] = SimpleNamespace(name=host, get=lambda _version, _kind, name, _space, item=item: item if name == "flower-standby" else None)

    @contextlib.contextmanager
    def connect(host: str, timeout: float = 30) -> Any:
        if isinstance(failed := terms[host], ClusterError):
            raise failed
        yield clusters[host]

    made = SimpleNamespace(change=lambda *_given: Admitted(True, {"lab": {"since": "now", "reason": ""}}, ["lab"], warnings=["w"]))
    monkeypatch.setattr(site_access, "Admission", lambda *_place, **_more: made)
    action: Any = object.__new__(site_access.ActionModule)
    action._task, action.task_vars, action.connect, action.note = SimpleNamespace(check_mode=False), {"groups": groups}, connect, print
    given = {"hub": "hub", "hub_namespace": "flower", "federation": "demo", "site": "lab", "state": "denied"}
    result: dict[str, Any] = action.execute(action._checked(action.ARGS, {}, given, ""), {})
    return result


@pytest.mark.parametrize(
    ("own", "other", "words"),
    [
        (Term(FENCED, 2, "spare"), Term(ACTIVE, 2, "spare"), "hub is fenced: spare took over from it in term 2"),
        (Term(STANDBY, 2, "spare"), Term(ACTIVE, 2, "spare"), "hub is the standby of spare"),
        (None, Term(ACTIVE, 2, "spare"), "hub does not serve any more: spare took over from it in term 2"),
    ],
)
def test_a_hub_that_does_not_serve_is_refused(monkeypatch: pytest.MonkeyPatch, own: Term | None, other: Term, words: str) -> None:
    with pytest.raises(ClusterError, match=words) as raised:
        deny(monkeypatch, {"hub": own, "spare": other}, GROUPS)
    assert raised.value.message.endswith("Nothing was changed.")


def test_one_that_serves_is_not_held_up_by_a_lost_standby(monkeypatch: pytest.MonkeyPatch) -> None:
    term = Term(ACTIVE, 1, "hub", "spare")
    assert deny(monkeypatch, {"hub": term, "spare": Term(STANDBY, 1, "hub")}, GROUPS)["warnings"] == ["w"]
    result = deny(monkeypatch, {"hub": term, "spare": ClusterError("spare: no answer.")}, GROUPS)
    assert result["changed"] and result["warnings"] == ["cannot determine whether spare serves: spare: no answer.", "w"]
    assert deny(monkeypatch, {"hub": None}, {"flower_hub": ["hub"]})["warnings"] == ["w"]


def test_check_mode_denies_nothing_and_says_so() -> None:
    denial = {"since": "2026-11-29", "reason": "audit"}
    rows = [
        ({}, True, False, "lab is admitted"),
        ({}, True, True, "lab would be admitted"),
        ({}, False, True, "lab is admitted, as it was"),
        (denial, True, False, "lab has been denied since 2026-11-29 (audit)"),
        (denial, True, True, "lab would be denied (audit)"),
        (denial, False, True, "lab has been denied since 2026-11-29 (audit)"),
    ]
    assert [site_access._words("lab", found, changed, check=check) for found, changed, check, _words in rows] == [row[3] for row in rows]
