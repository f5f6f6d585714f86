# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ocm.managed_clusters import Question

AUTH = {"kubeconfig": "/k", "context": "hub"}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_CONTEXT", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


def test_the_same_question_has_the_same_key() -> None:
    assert Question().key(AUTH) == Question().key(dict(AUTH))


@pytest.mark.parametrize(
    "change",
    [
        {"cluster_sets": ("a",)},
        {"label_selector": "a=b"},
        {"placement": "p"},
        {"placement_namespace": "n"},
        {"accepted_only": False},
        {"gpu_resources": ("x",)},
    ],
)
def test_another_question_has_another_key(change: dict[str, Any]) -> None:
    assert replace(Question(), **change).key(AUTH) != Question().key(AUTH)


@pytest.mark.parametrize(
    "auth", [{}, {"kubeconfig": "/k"}, {**AUTH, "context": "b"}, {**AUTH, "impersonate_user": "u"}]
)
def test_another_hub_has_another_key(auth: dict[str, Any]) -> None:
    assert Question().key(auth) != Question().key(AUTH)


def test_the_environment_may_say_which_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Question().key({})
    monkeypatch.setenv("K8S_AUTH_CONTEXT", "other")
    assert Question().key({}) != before
    monkeypatch.delenv("K8S_AUTH_CONTEXT")
    monkeypatch.setenv("KUBECONFIG", "/other")
    assert Question().key({}) != before


def test_credentials_are_no_part_of_a_key() -> None:
    one = {"clusters": [{"name": "hub", "cluster": {"server": "https://hub"}}], "users": [{"user": {"token": "a"}}]}
    other = {**one, "users": [{"user": {"token": "b"}}]}
    assert Question().key({"kubeconfig": one}) == Question().key({"kubeconfig": other})
    assert Question().key({**AUTH, "api_key": "a"}) == Question().key({**AUTH, "api_key": "b"})
    elsewhere = {**one, "clusters": [{"name": "hub", "cluster": {"server": "https://other"}}]}
    assert Question().key({"kubeconfig": one}) != Question().key({"kubeconfig": elsewhere})
