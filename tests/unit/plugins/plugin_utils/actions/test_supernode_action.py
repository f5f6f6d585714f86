# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action supernode: what each state does, and with what of the hub the sites are deployed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.actions import site_steps
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.tests.unit.rows import each_row

FOUND = {"address": "flower.example.com:443", "ca_bundle": "CA", "server_name": "flower.example.com", "changed": True}
KNOWN = {key: FOUND[key] for key in ("address", "ca_bundle", "server_name")}


@each_row(
    ("check", "rendering", "registered", "foreseen"),
    [(True, False, FOUND, KNOWN), (False, False, FOUND, {}), (True, True, FOUND, {}), (True, False, {"skipped": True}, {}), (True, False, None, {})],
)
def test_check_mode_knows_what_the_hub_would_publish(check: bool, rendering: bool, registered: Any, foreseen: dict[str, str]) -> None:
    variables = {} if registered is None else {"__superlink_deployed": registered}
    asked: Any = SimpleNamespace(check=check, rendering=rendering, value_of=lambda host, name, default: {"hub": variables}[host].get(name, default))
    assert supernode.ActionModule._foreseen(asked, "hub") == foreseen


STATES = {
    "present": "_deploy", "absent": "_remove", "checked": "check_sites", "described": "_describe", "healed": "heal_sites", "pulled": "pull_images",
}  # fmt: skip
REQUIRED: dict[str, dict[str, Any]] = {"healed": {"wait_timeout": 1}}


def params(state: str, **given: Any) -> dict[str, Any]:
    action = supernode.ActionModule
    found: dict[str, Any] = action._checked(action.ARGS, action.SPEC, {"state": state, **given}, "")
    return found


@pytest.mark.parametrize("state", STATES)
def test_each_state_does_its_part_alone(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    action: Any = object.__new__(supernode.ActionModule)
    done = []
    for method in STATES.values():
        monkeypatch.setattr(action, method, lambda *_given, method=method: done.append(method) or {}, raising=False)
    action.work(params(state, **REQUIRED.get(state, {})), {}, Outcomes(SimpleNamespace(), [], 1))
    assert done == [STATES[state]]


def test_the_role_removes_the_sites_whose_variables_want_that_and_deploys_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    action: Any = object.__new__(supernode.ActionModule)
    done: list[Any] = []
    monkeypatch.setattr(action, "reach", dict, raising=False)
    monkeypatch.setattr(action, "_remove", lambda backends, outcomes: done.append(("removed", [*backends])))
    monkeypatch.setattr(action, "deploy_sites", lambda sites, outcomes, **_given: done.append(("deployed", [*sites])))
    sites: Any = {
        name: SimpleNamespace(given={"state": state}, has_other_superlink=other, image_seconds=0)
        for name, state, other in (("a", "present", False), ("b", "absent", False), ("c", "absent", True))
    }
    found = action.work(params("present"), sites, Outcomes(SimpleNamespace(), sites, 1))
    assert done == [("removed", ["b", "c"]), ("deployed", ["a"])]
    assert found == {"removed": ["b"]}  # without a hub, the administrator of the SuperLink unregisters them
    # The role clientapp leaves SuperNodes as they are.
    done.clear()
    action.work(params("present", part="clientapp"), sites, Outcomes(SimpleNamespace(), sites, 1))
    assert done == [("removed", []), ("deployed", ["a", "b", "c"])]


@pytest.mark.parametrize(("state", "left_out"), [(state, option) for state, options in REQUIRED.items() for option in options])
def test_a_state_has_options_that_it_requires(state: str, left_out: str) -> None:
    with pytest.raises(ClusterError, match=left_out):
        params(state, **{name: value for name, value in REQUIRED[state].items() if name != left_out})


def test_supernodes_are_healed_at_the_hub_of_the_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own variables say where the SuperLink is, whichever host the task runs for."""
    action: Any = object.__new__(supernode.ActionModule)
    action.inventory_host, action._task = "site-a", SimpleNamespace(check_mode=False)
    action._templar = SimpleNamespace(template=lambda value: value)
    hub_variables = {"superlink_namespace": "fl", "superlink_federation": "demo"}
    action.task_vars = {"groups": {"flower_hub": ["hub"]}, "hostvars": {"hub": hub_variables}, "superlink_namespace": "of-the-site"}

    class Hub:
        name = ""

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_error: object) -> None:
            return None

        def get(self, *_place: str) -> None:
            return None

    class Healer:
        restarted = 0

        def __init__(self, _run: Any, hub: Any, *place: Any) -> None:
            asked.append((hub.name, *place))

        def heal(self, *_sites: Any) -> dict[str, Any]:
            return {"healed": [], "due": [], "waiting": [], "given_up": [], "unreadable": {}, "fault": "", "pause": ""}

    asked: list[Any] = []
    monkeypatch.setattr(action, "connect", lambda host: Hub() if host == "hub" else None, raising=False)
    monkeypatch.setattr(site_steps, "Healer", Healer)
    found = action.work(params("healed", wait_timeout=7, restart=True), {}, Outcomes(SimpleNamespace(), [], 1))
    ((host, namespace, federation, options),) = asked
    assert (host, namespace, federation) == ("hub", "fl", "demo") and (options.seconds, options.restart, options.after) == (7, True, 180)
    assert found["msg"] == "0 healed, 0 to restart, 0 waiting, 0 given up" and not found["changed"] and found["held"] == []
