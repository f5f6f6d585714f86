# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for SuperNodes through something that closes idle connections, and with an API server that does not answer."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import cli
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ERRORS, Unreachable

IDLE = 30  # seconds after which a connection without data is closed
LOCKED = cli.Answer(False, {}, "database is locked")


def listed(status: str) -> cli.Answer:
    return cli.Answer(True, {"nodes": [{"node-id": 1, "status": status}]}, "")


class Hub(cli.FlowerCLI):
    """Its answers, each at the end of what was asked for; C(None): the connection is lost after a second; a status: that of a load balancer, at once."""

    def __init__(self, answers: Iterator[cli.Answer | int | None]) -> None:
        super().__init__(SimpleNamespace(name="hub", get=lambda *_which: {}), "flower")
        self.answers, self.now = answers, 0.0
        self.waits: list[float] = []

    def do(self, steps: Sequence[Mapping[str, Any]], *, seconds: float = 60, **_more: Any) -> list[cli.Answer]:
        wait = steps[0]["seconds"]
        self.waits.append(wait)
        assert seconds == wait + 60
        answer = next(self.answers)
        if isinstance(answer, int):
            raise ERRORS[answer]("hub", "exec python", answer, {})
        self.sleep(1 if answer is None else wait)
        if answer is None or wait > IDLE:
            raise Unreachable("hub: exec python: the connection was closed before the command ended.")
        return [answer]

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def hub(monkeypatch):
    def made(*answers: cli.Answer | int | None, forever: bool = False) -> Hub:
        found = Hub(iter(lambda: answers[0], object()) if forever else iter(answers))
        monkeypatch.setattr(cli, "time", found)
        return found

    return made


def test_a_long_wait_is_never_silent_for_long(hub):
    cli_ = hub(listed("offline"), LOCKED, None, 502, 503, 500, listed("offline"), listed("online"))
    assert cli_.nodes(["1"], 300) == {"1": {"node-id": 1, "status": "online"}}
    assert max(cli_.waits) <= 20 and len(cli_.waits) == 8


@pytest.mark.parametrize(
    ("came", "seconds", "status", "waited"),
    [
        ("2026-01-01T00:00:00+00:00", 300, "online", 61),
        ("2026-01-01T00:00:00+00:00", 30, "silent since the SuperLink restarted", 30),
        ("2100-01-01T00:00:00+00:00", 300, "online", 0),
    ],
)
def test_what_a_restarted_superlink_remembers_is_no_answer(monkeypatch: pytest.MonkeyPatch, came: str, seconds: float, status: str, waited: float) -> None:
    """Its database has who was online before it: for 60 seconds nobody knows whether these have called again."""
    answer = cli.Answer(True, {"nodes": [{"node-id": 1, "status": "online", "online-at": came}]}, "")
    running = {"startedAt": datetime.datetime.now(datetime.timezone.utc).isoformat()}
    clock = Hub(iter([]))

    class Cluster:
        name = "hub"
        skew = property(lambda _self: clock.now)

        def get(self, *_which: str) -> dict[str, Any]:
            return {"status": {"containerStatuses": [{"name": "superlink", "state": {"running": running}}]}}

    clock.cluster = Cluster()
    monkeypatch.setattr(cli, "time", clock)
    monkeypatch.setattr(clock, "do", lambda *_steps, **_more: [answer])  # at once
    assert clock.nodes(["1"], seconds)["1"]["status"] == status and clock.now == pytest.approx(waited, abs=1)


def test_a_node_that_stays_away_is_returned_when_the_time_is_over(hub):
    cli_ = hub(listed("offline"), forever=True)
    assert cli_.nodes(["1"], 50)["1"]["status"] == "offline"
    assert cli_.waits == [20, 20, 10] and cli_.now == 50


def test_an_api_server_that_does_not_answer_is_not_waited_for_until_the_end(hub):
    cli_ = hub(None, forever=True)
    with pytest.raises(Unreachable, match="the connection was closed"):
        cli_.nodes(["1"], 300)
    assert 60 <= cli_.now <= 62


@pytest.mark.parametrize("wait_for", [(), ("1",)])
def test_without_a_time_there_is_one_question(hub, wait_for):
    cli_ = hub(listed("offline"))
    assert cli_.nodes(wait_for)["1"]["status"] == "offline" and cli_.waits == [0]
    with pytest.raises(Unreachable):
        hub(None).nodes(wait_for)
    with pytest.raises(cli.FlowerError, match="database is locked"):
        hub(LOCKED).nodes(wait_for)


@pytest.mark.parametrize(("seconds", "words"), [(0, "is not ready; last seen: there is no such pod"), (3, "is not ready after 3 s; last seen")])
def test_one_that_was_not_waited_for_is_not_said_to_be(monkeypatch: pytest.MonkeyPatch, seconds: float, words: str) -> None:
    hub = Hub(iter([]))
    hub.cluster.get = lambda *_which: None
    hub.cluster.access_review = lambda asked: [False for _one in asked]
    monkeypatch.setattr(cli, "time", hub)
    with pytest.raises(cli.FlowerError, match=words):
        hub.wait_for_superlink(seconds)


def test_a_supernode_is_registered_with_its_name_and_location() -> None:
    sent: list[Mapping[str, Any]] = []

    class Recorded(cli.FlowerCLI):
        def do(self, steps: Sequence[Mapping[str, Any]], **_more: Any) -> list[cli.Answer]:  # type: ignore[override]
            sent.extend(steps)
            return []

    hub = Recorded(SimpleNamespace(name="hub"), "flower")  # type: ignore[arg-type]
    hub.register(["k", "l"], [("site-a/cpu/0", "-33.9,18.4"), ("site-b/cpu/0", "")])
    hub.register(["m"])
    assert [step["command"] for step in sent] == [
        ["supernode", "register", "@FOLDER@/0.pub", "--name=site-a/cpu/0", "--location=-33.9,18.4", "hub", "--format", "json"],
        ["supernode", "register", "@FOLDER@/1.pub", "--name=site-b/cpu/0", "hub", "--format", "json"],
        ["supernode", "register", "@FOLDER@/0.pub", "hub", "--format", "json"],
    ]


@pytest.mark.parametrize("breaks", [1, 3, 4])
def test_keys_whose_answers_are_lost_are_asked_for_again_with_the_same_tokens(monkeypatch: pytest.MonkeyPatch, breaks: int) -> None:
    """Flower accepts a key once: the node id of one that was registered is in the answer alone."""
    sent: list[list[str]] = []
    clock = Hub(iter([]))
    monkeypatch.setattr(cli, "time", clock)

    def do(steps: Sequence[Mapping[str, Any]], **_more: Any) -> list[cli.Answer]:
        sent.append([step["once"] for step in steps])
        if len(sent) <= breaks:
            raise Unreachable("hub: exec python: the connection was lost")
        return [cli.Answer(True, {"node-id": 7}, "")]

    monkeypatch.setattr(clock, "do", do)
    if breaks < 4:
        assert [one.data["node-id"] for one in clock.register(["k"])] == [7] and len(sent) == breaks + 1
    else:
        with pytest.raises(Unreachable):
            clock.register(["k"])
    assert all(tokens == sent[0] for tokens in sent)
