# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.in_pod import Output
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import outdated_pods
from ansible_collections.federated.flower.tests.unit.shared_namespace import FEDERATION, SharedNamespace
from ansible_collections.federated.flower.tests.unit.shared_namespace import pod as ready_pod


def pod(container: str = "1", *, uid: str = "u", state: str = "running") -> dict[str, Any]:
    status = {"name": "supernode", "containerID": container, "state": {state: {}}}
    return {"metadata": {"name": "p", "namespace": "x", "uid": uid}, "status": {"containerStatuses": [status]}}


class Cluster:
    name = "site-a"

    def __init__(self, live: dict[str, Any] | None) -> None:
        self.live = live

    def get(self, *_args: str) -> dict[str, Any] | None:
        return self.live


@pytest.mark.parametrize("live", [None, pod("2"), pod(state="terminated"), pod(uid="other")])
def test_a_container_that_ends_while_it_is_asked_reads_the_current_files_when_it_starts(monkeypatch, live):
    monkeypatch.setattr(outdated_pods.in_pod, "run", lambda *_args, **_more: Output([], 137, "it said nothing"))
    assert not outdated_pods.is_outdated(Cluster(live), pod(), "supernode", {"/f": "d"})


@pytest.mark.parametrize(("live", "old"), [(pod("2"), False), (pod(), None)])
def test_a_container_that_is_gone_when_the_program_is_to_begin(monkeypatch, live, old):
    def refuse(*_args, **_more):
        raise ClusterError('unable to upgrade connection: container not found ("supernode")')

    monkeypatch.setattr(outdated_pods.in_pod, "run", refuse)
    monkeypatch.setattr(outdated_pods, "_REPORTED", 0)
    if old is None:
        with pytest.raises(ClusterError, match="container not found"):
            outdated_pods.is_outdated(Cluster(live), pod(), "supernode", {"/f": "d"})
    else:
        assert outdated_pods.is_outdated(Cluster(live), pod(), "supernode", {"/f": "d"}) is old


@pytest.mark.parametrize("code", [137, 1])
def test_a_program_that_fails_in_a_container_that_runs_is_an_error(monkeypatch, code):
    monkeypatch.setattr(outdated_pods.in_pod, "run", lambda *_args, **_more: Output([], code, "it said nothing"))
    monkeypatch.setattr(outdated_pods, "_REPORTED", 0)
    with pytest.raises(ClusterError, match=f"ended with code {code}: it said nothing"):
        outdated_pods.is_outdated(Cluster(pod()), pod(), "supernode", {"/f": "d"})


def test_a_pod_of_others_does_not_take_the_place_of_a_restarted_one(monkeypatch):
    """The pods of two Deployments have the same seat: neither pool nor fixed name."""
    own, theirs = ready_pod("own", "serverapp"), ready_pod("theirs", "serverapp", ours=False)
    del own["metadata"]["labels"]["federated.flower/pool"]
    noted: list[str] = []

    def note(words: list[str]) -> None:
        noted.extend(words)

    late = SharedNamespace(own, theirs)
    monkeypatch.setattr(late, "delete", lambda *_args, **_more: late.pods.remove(own))
    with pytest.raises(ClusterError, match="not ready after 0 s"):
        outdated_pods.replace_pods(late, "shared", FEDERATION, [own], 0, note)
    assert noted == ["restarted pod shared/own"]
    assert outdated_pods.replace_pods(SharedNamespace(own, theirs), "shared", FEDERATION, [{**own, "metadata": dict(own["metadata"])}], 0, note) == ["own"]
