# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan is the same for the same fleet, shows no secret, and has every change that was not approved."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action.plan import ActionModule
from ansible_collections.federated.flower.plugins.plugin_utils.apply import redacted_diff
from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import id_of
from ansible_collections.federated.flower.plugins.plugin_utils.apply.redacted_diff import Mask
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_notes, plan_text

TITLE = "the federation oncology in namespace flower of hub"


def config(data: Mapping[str, str], name: str = "settings", kind: str = "ConfigMap") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "flower", "uid": "u1"}, "data": dict(data)}


def change(before: dict[str, Any] | None, after: dict[str, Any] | None, site: str = "site-a") -> list[dict[str, Any]]:
    """The notes of a task in check mode with --diff."""
    shown = after or before
    assert shown is not None
    done = {
        "kind": shown["kind"], "namespace": "flower", "name": shown["metadata"]["name"],
        "change": "deleted" if after is None else "changed" if before else "created",
    }  # fmt: skip
    entry = redacted_diff.diff_entry(id_of(shown), before, after, Mask())
    return [{"site": site, "facts": facts} for facts in ({"objects": audit_notes.of_objects([done])}, {"diff": [entry]})]


def plan(*noted: list[dict[str, Any]], failed: tuple[str, ...] = ()) -> str:
    return plan_text.write(TITLE, [one for listed in noted for one in listed], failed)


CHANGED = change(config({"mode": "old", "a": "1"}), config({"mode": "new", "a": "1"}))
CREATED = change(None, config({"a": "1"}, "other"), "hub")
DELETED = change(config({"a": "secret words"}, "gone"), None)


def test_the_same_fleet_gives_the_same_plan() -> None:
    facts = [{"site": "site-a", "facts": {"partitions": [{"pool": "cpu", "offset": 0, "size": 2, "serial": "x"}], "words": ["keys: 2"]}}]
    one, other = plan(CHANGED, CREATED, DELETED, facts, failed=("site-b",)), plan(facts, DELETED, CREATED, CHANGED, CHANGED, failed=("site-b",))
    assert one == other
    assert plan_text.heads(plan_text.paragraphs(one)) == [
        "hub: created ConfigMap flower/other",
        "site-a: changed ConfigMap flower/settings",
        "site-a: deleted ConfigMap flower/gone",
        "site-a: keys: 2",
        "site-a: partitions  offset 0 pool cpu size 2",
        "site-b: could not be checked, so nothing is planned for it",
    ]
    assert "    -  mode: old\n    +  mode: new\n" in one and "secret words" not in one


def test_secrets_are_not_in_it_and_that_they_change_is() -> None:
    before, after = ({"user": "anVzdA==", "password": word} for word in ("b2xkZXI=", "bmV3ZXI="))
    text = plan(change(config(before, "login", "Secret"), config({**after, "more": "eA=="}, "login", "Secret")))
    assert text == plan(change(config(before, "login", "Secret"), config({**after, "more": "eA=="}, "login", "Secret")))
    assert not any(word in text for word in ("anVzdA==", "b2xkZXI=", "bmV3ZXI=", "eA==", "masked"))
    assert "    -  password: (secret)\n    +  more: (new secret)\n    +  password: (new secret)\n       user: (secret)\n" in text


def test_what_is_made_when_it_is_applied_does_not_make_it_another_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(before: dict[str, Any] | None = None, **more: str) -> str:
        ca = certificates.make_ca("demo", datetime.timedelta(days=1)).certificate
        name = f"trust-{os.urandom(6).hex()}"
        service: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hub", "namespace": "flower"}}
        service["spec"] = {"clusterIP": f"10.0.0.{ca.count('A')}", "clusterIPs": [f"10.0.0.{ca.count('B')}"], "ports": [{"nodePort": len(name), "port": 1}]}
        return plan(change(None, config({"ca.crt": ca}, name)), change(before, config({"ca": name, **more})), change(None, service))

    assert first() == first() != first(mode="new")
    shown = ("(made when the plan is applied)", "- nodePort: (chosen)", "created ConfigMap flower/trust-*", "port: 1")
    assert all(words in first() for words in shown)
    # Digests that are there already, and certificates of the inventory, are part of it.
    known = first(config({"ca": "trust-0123456789ab", "mode": "x"}))
    assert "    -  ca: trust-0123456789ab" in known and "    +  ca: trust-*" in known
    monkeypatch.setattr(certificates, "_now", lambda: datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=2))
    given = certificates.make_ca("given", datetime.timedelta(days=9)).certificate
    assert given.splitlines()[1] in plan(change(config({"mode": "x"}), config({"ca.crt": given})))
    image = plan(change(config({"image": "app:1"}), config({"image": "app:0123456789ab"})))
    assert "app:0123456789ab" in image


def test_only_what_was_approved_is_applied() -> None:
    approved = plan(CHANGED, CREATED, DELETED)
    assert plan_text.unplanned(approved, approved) == [] == plan_text.unplanned(approved, plan(DELETED)) == plan_text.unplanned(approved, plan())
    other = change(config({"mode": "old", "a": "1"}), config({"mode": "other", "a": "1"}))
    drifted = change(config({"mode": "old", "a": "2"}), config({"mode": "new", "a": "2"}))
    for wrong in (other, drifted):
        assert plan_text.unplanned(approved, plan(CREATED, wrong)) == ["site-a: changed ConfigMap flower/settings in another way"]
    more = change(None, config({"a": "1"}, "other"), "site-b")
    assert plan_text.unplanned(approved, plan(CHANGED, more)) == ["site-b: created ConfigMap flower/other is not planned"]
    assert len(plan_text.unplanned(approved, plan(failed=("site-b",)))) == 1
    assert "it is Plan of federated.flower for" in plan_text.unplanned(approved, approved.replace("oncology", "other"))[0]


class Plan(ActionModule):
    """The action without a run of Ansible."""

    check = False

    def __init__(self, **params: Any) -> None:
        self.params = {"path": None, "sha256": None, "hub": "hub", **params}
        self.noted: list[Any] = []

    def note(self, site: str | None = None, **facts: Any) -> None:
        self.noted.append((site, facts))


def test_a_file_is_written_once_and_its_hash_is_that_of_the_plan(tmp_path: Path) -> None:
    path, text = tmp_path / "plan.txt", plan(CHANGED)
    first, again = (Plan(path=str(path))._write_plan(text) for _time in range(2))
    assert first["changed"] and not again["changed"] and path.read_text() == text and path.stat().st_mode & 0o777 == 0o600
    assert first["sha256"] == again["sha256"] == plan_text.sha256(path.read_text()) and not first["nothing_to_do"]
    assert [*tmp_path.iterdir()] == [path]
    path.write_text("something else\n")
    with pytest.raises(ClusterError, match="is not a plan, and is not overwritten"):
        Plan(path=str(path))._write_plan(text)
    with pytest.raises(ClusterError, match=r"is not a plan: federated.flower.plan writes them"):
        Plan(path=str(path))._compare(text)
    with pytest.raises(ClusterError, match="cannot be read"):
        Plan(path=str(tmp_path / "none"))._compare(text)


def test_what_was_not_approved_is_refused(tmp_path: Path) -> None:
    path, text, other = tmp_path / "plan.txt", plan(CHANGED, CREATED), plan(DELETED)
    path.write_text(text)
    wanted = plan_text.sha256(text)
    action = Plan(path=str(path), sha256=f" {wanted.upper()} ")
    assert "2 changes are due" in action._compare(text)["msg"] and action.noted == [("hub", {"words": [f"plan {wanted}"]})]
    rest = Plan(path=str(path))
    assert "1 changes" in rest._compare(plan(CREATED))["msg"] and rest.noted
    done = Plan(path=str(path))
    assert "no changes are left to apply" in done._compare(plan())["msg"] and not done.noted
    with pytest.raises(ClusterError, match=r"site-a: deleted ConfigMap flower/gone is not planned\nNothing was changed"):
        Plan(path=str(path))._compare(other)
    with pytest.raises(ClusterError, match="is not the plan of flower_plan_hash"):
        Plan(path=str(path), sha256="0" * 64)._compare(text)
    assert "2 changes" in Plan(sha256=wanted)._compare(text)["msg"] and "no changes are left" in Plan(sha256=wanted)._compare(plan())["msg"]
    for present in (plan(CREATED), other):
        with pytest.raises(ClusterError, match=f"the plan {wanted} does not match the changes that are due now"):
            Plan(sha256=wanted)._compare(present)
    with pytest.raises(ClusterError, match="is not a SHA-256"):
        Plan(sha256="yes")._compare(text)


def test_a_text_of_others_is_read_once() -> None:
    """What else an object has is in its difference, too, and others may write there."""
    begun = time.process_time()
    assert plan_text.difference({"before": "a\n", "after": "-----BEGIN CERTIFICATE-----" * 10_000})
    assert time.process_time() - begun < 5
