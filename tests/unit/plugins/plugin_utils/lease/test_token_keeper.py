# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A token of OpenShift is revoked when its run ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube import oauth
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound, Unauthorized
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.lease import token_keeper
from ansible_collections.federated.flower.plugins.plugin_utils.lease.holding import HELD, Holding
from ansible_collections.federated.flower.plugins.plugin_utils.lease.process import Process

TOKEN = "sha256~nNGgI1WZ3iRqYtOmNXJzNWs3Pdsh9ReX4RjpgrUjXNM"


class Noting(Cluster):
    """Writes down what is asked of it; fails some times before that."""

    def __init__(self, path: Path, fails: int = 0, error: Exception | None = None) -> None:
        self.path, self.fails, self.error = path, fails, error
        self.timeout = 1.0

    def request(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        if self.error:
            raise self.error
        if self.fails:
            self.fails -= 1
            raise ClusterError("down")
        self.path.write_text(json.dumps([method, path]), encoding="utf-8")
        return {}

    def close(self) -> None:
        """Nothing is open."""


def test_the_object_of_a_token_is_named_by_its_digest() -> None:
    name = oauth.object_name(TOKEN)
    assert name.startswith("sha256~") and "=" not in name and "nNGgI1" not in name
    assert oauth.object_name(TOKEN.removeprefix("sha256~")) == name


def test_a_token_that_is_gone_is_revoked_already(tmp_path: Path) -> None:
    assert oauth.revoke(Noting(tmp_path / "asked"), TOKEN)
    gone = NotFound("hub", "DELETE", 404, {})
    for error in (gone, Unauthorized("hub: 401")):
        assert not oauth.revoke(Noting(tmp_path / "asked", error=error), TOKEN)


def test_a_cluster_that_is_down_is_asked_again(tmp_path: Path) -> None:
    token_keeper.revoke(Noting(tmp_path / "asked", fails=2), TOKEN)
    assert json.loads((tmp_path / "asked").read_text())[0] == "DELETE"
    token_keeper.revoke(Noting(tmp_path / "never", fails=99), TOKEN)
    assert not (tmp_path / "never").exists()


def test_it_is_revoked_after_the_run_and_after_the_keeper_of_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(folder: Path) -> Holding | None:
        (tmp_path / "opened").touch()
        return Holding.open(folder)

    monkeypatch.setattr(token_keeper, "_LOOK", 0.01)
    monkeypatch.setattr(token_keeper, "Holding", SimpleNamespace(open=opened))
    run, keeper = (subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _number in range(2))
    with Holding.begin(tmp_path) as holding:
        holding.note(HELD, holder="me", keeper=keeper.pid)
    asked = tmp_path / "asked"
    child = token_keeper.start(Noting(asked), TOKEN, tmp_path, run.pid)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "opened").exists():  # only a lease that it has seen is waited for
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.2)
        assert not asked.exists()
        run.communicate(b"\n")
        time.sleep(0.2)
        assert not asked.exists(), "the keeper of the lease may still need the token"
        keeper.communicate(b"\n")
        assert Process(child).ends_within(60)
        assert json.loads(asked.read_text()) == ["DELETE", f"/apis/{oauth.API}/useroauthaccesstokens/{oauth.object_name(TOKEN)}"]
    finally:
        os.waitpid(child, 0)
