# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real ansible-rulebook starts the right playbook with the right limit from real webhooks. The playbooks are stand-ins that record their calls."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.events.rulebook import TOKEN, Rulebook, alert, notification, wait

ROOT = Path(__file__).resolve().parents[2]
SITES = [f"site-{letter}" for letter in "abcdefgh"]
# Writes what a playbook was called with; ansible_eda is what ansible-rulebook passes of an event.
STAND_IN = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.copy:
        content: >-
          {{ {'playbook': 'NAME', 'limit': ansible_limit | default(''), 'hosts': ansible_play_hosts_all | sort,
              'run_id': flower_run_id | default(none), 'directory': flower_outputs_directory | default(none),
              'reconcile': flower_reconcile | default(none),
              'event': ansible_eda.event} | to_json }}
        dest: "RECORDS/{{ lookup('ansible.builtin.pipe', 'date +%s%N') }}-NAME.json"
        mode: "0600"
      run_once: true
      delegate_to: localhost
"""


class Started:
    """The rulebook that all tests here share, and the playbooks it has started.

    Each test has its own sites, for they are not repaired twice. A playbook that must not be started is seen by the next test, or
    at the end.
    """

    def __init__(self, rulebook: Rulebook, records: Path, inventory: Path) -> None:
        self.rulebook = rulebook
        self.inventory = inventory
        self._records = records
        self._seen = 0

    def calls(self) -> list[dict[str, Any]]:
        """The calls of playbooks that no test has seen, in their order."""
        return [json.loads(path.read_text()) for path in sorted(self._records.glob("*.json"))[self._seen :]]

    def next(self, number: int) -> list[dict[str, Any]]:
        """Wait for that many calls."""
        wait(f"{number} calls", lambda: len(self.calls()) >= number)
        found = self.calls()[:number]
        self._seen += number
        return found


def write_inventory(path: Path, sites: list[str], **variables: Any) -> None:
    """An inventory with a hub and sites, whose control node is this machine."""
    groups = {"flower_hub": {"hosts": {"hub": {}}}, "flower_sites": {"hosts": {site: variables.get(site, {}) for site in sites}}}
    content = {"all": {"vars": {"ansible_connection": "local"}, "children": groups}}
    text = yaml.safe_dump(content)
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """The rulebook, with a copy of the collection whose playbooks are stand-ins."""
    folder = tmp_path_factory.mktemp("events")
    records = folder / "records"
    copy = folder / "ansible_collections/federated/flower"
    for path in (records, copy / "playbooks"):
        path.mkdir(parents=True)
    for name in ("extensions", "galaxy.yml", "meta", "plugins"):
        (copy / name).symlink_to(ROOT / name)
    for name in ("outputs", "reconcile", "rotate_certs", "site", "status"):
        text = STAND_IN.replace("NAME", name).replace("RECORDS", str(records))
        (copy / "playbooks" / f"{name}.yml").write_text(text)
    inventory = folder / "fleet.yml"
    write_inventory(inventory, SITES)
    variables = {
        "flower_event_inventory": str(inventory),
        "flower_event_watch": 4,
        "flower_event_most": 3,
        "flower_event_alerts": {"RunEnded": "fetch"},
        "flower_outputs_directory": "/srv/outputs",
    }
    rulebook = Rulebook("fleet_events", folder, "-i", str(inventory), collections=str(folder), **variables)
    with rulebook:
        shared = Started(rulebook, records, inventory)
        yield shared
        time.sleep(2)  # what must not happen has no event to wait for
        assert shared.calls() == []
    assert TOKEN not in rulebook.said()
    assert "Traceback" not in rulebook.said(), rulebook.said()


def test_alerts_repair_their_sites(started: Started) -> None:
    firing = [alert("FlowerSiteOffline", site="site-a"), alert("FlowerSiteOffline", site="site-b", namespace="flower")]
    assert started.rulebook.send(notification(*firing, alert("FlowerSiteOffline", "resolved", site="site-c"))) == 200
    status, site = started.next(2)
    assert (status["playbook"], site["playbook"]) == ("status", "site")
    assert status["limit"] == site["limit"] == "site-a,site-b"
    assert site["hosts"] == ["site-a", "site-b"]
    # Nothing of the message itself is passed on.
    assert set(site["event"]) == {"do", "meta"}


@pytest.mark.parametrize("token", [None, "wrong", TOKEN + "x"])
def test_a_forged_message_is_refused(started: Started, token: str | None) -> None:
    assert started.rulebook.send(notification(alert("FlowerSiteOffline", site="site-c")), token) == 401


def test_an_alert_of_another_federation_is_refused(started: Started) -> None:
    other = [alert("FlowerSiteOffline", site="site-c", namespace="flower-b"), alert("FlowerCertificateExpired", namespace="flower-b")]
    assert started.rulebook.send(notification(*other)) == 200
    wait("the reasons", lambda: started.rulebook.said().count("label namespace is 'flower-b', which is none of this federation's") >= len(other))


HOSTILE = ["all", "flower_sites", "localhost", "site-a:!site-b", "@/etc/passwd", "-e@x", "~site.*", "site-c,site-d", "*", "site-z", "Site-C", "site-c\n"]


def test_names_that_are_not_sites_are_refused(started: Started) -> None:
    said = len(started.rulebook.said())
    hostile = [alert("FlowerSiteOffline", site=name) for name in HOSTILE]
    assert started.rulebook.send({"meta": {"hosts": ["all"]}, "limit": "all", **notification(*hostile)}) == 200
    for payload in (b"[1]", b'"all"', b'{"type": "deploy", "site": "site-c"}', b'{"type": "run-ended", "run_id": "1 -e x"}'):
        assert started.rulebook.send(payload) == 200
    assert started.rulebook.send(b"{") == 400
    wait("the reasons", lambda: started.rulebook.said()[said:].count("refused:") >= len(HOSTILE))
    assert "refused: site 'site-z' is not a site of the inventory" in started.rulebook.said()[said:]


def test_two_hundred_at_once_lead_to_one_run(started: Started) -> None:
    with ThreadPoolExecutor(16) as pool:
        messages = [notification(alert("FlowerSiteOffline", site="site-d"))] * 200
        codes = list(pool.map(started.rulebook.send, messages))
    assert set(codes) == {200}
    calls = started.next(2)
    assert [(call["playbook"], call["limit"]) for call in calls] == [("status", "site-d"), ("site", "site-d")]
    # Nor does one more have it repaired again.
    assert started.rulebook.send(messages[0]) == 200


def test_a_supernode_that_is_not_online_is_restarted(started: Started) -> None:
    assert started.rulebook.send(notification(alert("FlowerSuperNodeOffline", site="site-h"))) == 200
    (call,) = started.next(1)
    assert (call["playbook"], call["limit"], call["reconcile"]) == ("reconcile", "site-h", "heal")


def test_many_sites_at_once_are_only_reported(started: Started) -> None:
    for site in ("site-e", "site-f", "site-g", "site-h"):
        assert started.rulebook.send({"type": "site-degraded", "site": site}) == 200
    (call,) = started.next(1)
    assert (call["playbook"], call["limit"]) == ("status", "flower_hub,flower_sites")


def test_certificate_that_is_due_is_rotated(started: Started) -> None:
    assert started.rulebook.send(notification(alert("FlowerCertificateExpiresSoon"))) == 200
    (call,) = started.next(1)
    assert (call["playbook"], call["limit"]) == ("rotate_certs", "flower_hub,flower_sites")
    assert call["hosts"] == ["hub", *SITES]


def test_outputs_of_runs_that_ended_are_fetched(started: Started) -> None:
    run, other = "0123456789", "18446744073709551615"
    assert started.rulebook.send({"type": "run-ended", "run_id": int(other)}) == 200
    assert started.rulebook.send(notification(alert("RunEnded", run_id=run))) == 200
    (call,) = started.next(1)
    assert call["playbook"] == "outputs" and call["directory"] == "/srv/outputs"
    assert call["run_id"] == f"{run},{other}"


def test_changes_of_the_inventory(started: Started) -> None:
    """A new site and one whose label has changed are deployed, a missing one is reported."""
    sites = [*SITES, "site-new"]
    labels = {"feature.open-cluster-management.io/addon-x": "unhealthy", "clientapp.federated.flower/flower": "1"}
    volatile = {"ocm_conditions": {"x": "y"}, "ocm_labels": labels}
    write_inventory(started.inventory, sites, **{"site-a": volatile, "site-b": {"ocm_labels": {"gpu": "a100"}}})
    calls = started.next(2)
    # The playbooks read the inventory as it is now.
    assert [(call["playbook"], call["limit"]) for call in calls] == [("site", "site-b,site-new"), ("status", "site-b,site-new")]
    started.inventory.write_text("{")  # cannot be read: no site has left
    wait("the warning", lambda: "The sites that were known before count" in started.rulebook.said())
    kept = [site for site in sites if site != "site-h"]
    write_inventory(started.inventory, kept, **{"site-a": volatile, "site-b": {"ocm_labels": {"gpu": "a100"}}})
    (call,) = started.next(1)
    assert (call["playbook"], call["limit"]) == ("status", "flower_hub,flower_sites")
    assert "inventory: no longer there: site-h" in started.rulebook.said()
