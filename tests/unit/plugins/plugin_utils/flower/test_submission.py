# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An app is submitted once, whatever happens to the connection, what is not known is not taken for a refusal, and a dataset that is missing is one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import app, runs, submission
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import Answer, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ExecBroken, Forbidden, Unreachable

ROOT = Path(__file__).parents[5]
RUN = Answer(True, {"run-id": "7"}, "")
BROKEN = ExecBroken("hub", "exec python", 500, {"message": "container runtime is down"})
LOST = Unreachable("hub: the connection was closed")


class Cli:
    """Flower's command line, which answers or fails in turn; the last one for ever."""

    def __init__(self, *answers: Any, uids: tuple[str, ...] = ("1",)) -> None:
        self.answers, self.uids, self.tokens = list(answers), list(uids), []
        self.cluster, self.namespace = SimpleNamespace(name="hub"), "flower"

    def wait_for_superlink(self, _seconds: float) -> dict[str, Any]:
        return {"metadata": {"uid": self.uids.pop(0) if len(self.uids) > 1 else self.uids[0]}}

    def do(self, steps: list[dict[str, Any]], **_options: Any) -> list[Answer]:
        self.tokens.append(steps[0]["once"])
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, ClusterError):
            raise found
        return [found]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs.time, "sleep", lambda _seconds: None)


@pytest.fixture(scope="module")
def quickstart() -> app.App:
    return app.load(str(ROOT / "examples" / "quickstart"))


@pytest.mark.parametrize("fault", [BROKEN, LOST])
def test_the_same_request_is_sent_again(quickstart: app.App, fault: ClusterError) -> None:
    cli = Cli(fault, RUN)
    assert submission.submit(cli, quickstart, {})["run-id"] == "7"
    assert len(cli.tokens) == 2 and len(set(cli.tokens)) == 1


@pytest.mark.parametrize("cli", [Cli(BROKEN), Cli(LOST), Cli(LOST, uids=("1", "2"))])
def test_whether_there_is_a_run_is_unknown(quickstart: app.App, cli: Cli) -> None:
    with pytest.raises(submission.UnknownSubmission, match="it is unknown whether a run started"):
        submission.submit(cli, quickstart, {})


def test_a_refusal_is_none_of_these(quickstart: app.App) -> None:
    cli = Cli(Forbidden("hub", "exec python", 403, {"message": "no"}))
    with pytest.raises(Forbidden):
        submission.submit(cli, quickstart, {})
    assert len(cli.tokens) == 1


INDEX = {
    "lyon": {"cpu": {"datasets": ["ct"], "nodes": ["1"]}},
    "oslo": {"cpu": {"datasets": [], "nodes": ["2"], "promised": {"ct": 5}}},
}


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(submission, "Ledger", lambda *_place, **_more: SimpleNamespace(read=lambda _part: INDEX))

    def require(*online: str) -> dict[str, list[str]]:
        nodes = {node: {"status": "online" if node in online else "offline"} for node in ("1", "2")}
        cli: Any = SimpleNamespace(cluster=SimpleNamespace(name="hub"), namespace="flower", nodes=lambda: nodes)
        return submission.check_datasets(cli, ["ct"], lambda _text: None)

    return require


def test_what_was_only_written_for_a_site_does_not_count(ask: Any) -> None:
    with pytest.raises(FlowerError, match=r"nothing was submitted.*dataset ct: oslo \(pool cpu\)") as error:
        ask("1", "2")
    assert "whether oslo has applied bundle version 5, which has dataset ct, is unknown: import its reply to that version" in error.value.message
    assert ask("1") == {"ct": ["lyon"]}
