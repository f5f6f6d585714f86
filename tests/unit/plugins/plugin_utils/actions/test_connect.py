# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection of a user's Flower CLI on their machine: files, rights, and what is refused before one of them is changed."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tomllib

from ansible_collections.federated.flower.plugins.action.connect import ActionModule, forward
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.streams import ExecResult
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask
from ansible_collections.federated.flower.tests.unit.rows import each_row

CA = certificates.make_ca("internal", datetime.timedelta(30)).certificate
KEY = "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n"
MINE = '# mine\n[superlink.lab]\naddress = "lab.example.com:443"\n'


def exec_of(*answers: str | Exception) -> Callable[..., ExecResult]:
    left = list(answers)

    def run(*_what: Any) -> ExecResult:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return ExecResult(answer.encode(), b"", 0)

    return run


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Runs the action for a hub; C(server), C(exec) and C(check) describe what it meets."""
    monkeypatch.setattr(ask, "require", lambda hub, _needed: hub.required())

    def run(
        server: str = "https://hub:6443", exec: Any = None, check: bool = False, required: Any = lambda: None, **given: Any
    ) -> dict[str, Any]:
        action: Any = object.__new__(ActionModule)
        action._task = SimpleNamespace(check_mode=check)
        hub = SimpleNamespace(name="hub", server=server, exec=exec or exec_of(CA), required=required)
        action.connect = lambda: contextlib.nullcontext(hub)
        action.auth_of = lambda: {"kubeconfig": "/home/ann/my config", "context": "hub", "api_key": "secret"}
        options = {"name": "hub", "namespace": "flower", "federation": "demo", "home": str(tmp_path), **given}
        result: dict[str, Any] = action.execute(action._checked(action.ARGS, {}, options, ""), {})
        return result

    return run


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_connection_is_written_once_and_removed(connect: Any, tmp_path: Path) -> None:
    config, ca = tmp_path / "config.toml", tmp_path / "federated-flower" / "hub.crt"
    config.write_text(MINE)
    config.chmod(0o644)
    planned = connect(check=True)
    assert planned["changed"] and planned["msg"].startswith("would write") and content(tmp_path) == {"config.toml": MINE}
    done = connect()
    assert done["diff"] == planned["diff"] and "lab" not in str(done["diff"]) and "[superlink.hub]\naddress = localhost:8000" in done["diff"][0]["after"]
    assert done["forward"] == "KUBECONFIG='/home/ann/my config' kubectl --context hub -n flower port-forward pod/superlink-0 8000:8000"
    assert config.read_text().startswith(MINE)
    assert tomllib.loads(config.read_text())["superlink"]["hub"] == {"address": "localhost:8000", "root-certificates": str(ca)}
    assert ca.read_text() == f"# federated.flower: federation demo in namespace flower of https://hub:6443\n{CA}"
    assert {path.stat().st_mode & 0o777 for path in (config, ca)} == {0o600} and ca.parent.stat().st_mode & 0o777 == 0o700
    times = config.stat().st_mtime_ns, ca.stat().st_mtime_ns
    assert not connect()["changed"] and (config.stat().st_mtime_ns, ca.stat().st_mtime_ns) == times
    assert connect(port=9000)["changed"] and "localhost:9000" in config.read_text()

    def never() -> Any:
        raise AssertionError("absent needs no cluster")

    gone = connect(state="absent", required=never, exec=never)
    assert gone["changed"] and gone["forward"] == "" and content(tmp_path) == {"config.toml": MINE} and not ca.parent.exists()
    assert not connect(state="absent")["changed"]


def test_without_a_file_the_connection_is_the_default(connect: Any, tmp_path: Path) -> None:
    connect(home=str(tmp_path / "new"), name="study")
    assert tomllib.loads((tmp_path / "new/config.toml").read_text())["superlink"]["default"] == "study"
    connect(home=str(tmp_path / "new"), name="lab", port=9000)
    left = connect(home=str(tmp_path / "new"), name="study", state="absent")
    assert "study is the default connection there, and does not exist any more" in left["warnings"][0]
    assert list(content(tmp_path)) == ["new/config.toml", "new/federated-flower/lab.crt"]
    connect(home=str(tmp_path / "new"), name="lab", state="absent")


def test_a_link_to_the_file_stays_one(connect: Any, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/flwr.toml").write_text(MINE)
    (tmp_path / "config.toml").symlink_to("dotfiles/flwr.toml")
    connect()
    assert (tmp_path / "config.toml").is_symlink() and "superlink.hub" in (tmp_path / "dotfiles/flwr.toml").read_text()


def test_a_new_ca_and_one_that_an_operator_gave(connect: Any, tmp_path: Path) -> None:
    connect()
    new = certificates.make_ca("internal", datetime.timedelta(30)).certificate
    assert connect(exec=exec_of("", f"noise\n{new}{CA}"))["changed"], "the first answer was lost"
    assert (tmp_path / "federated-flower/hub.crt").read_text().endswith(new + CA)
    given = tmp_path / "given.pem"
    given.write_text(KEY + CA.replace("\n", "\r\n"))
    connect(ca=str(given), exec=exec_of(AssertionError("not asked")))
    assert (tmp_path / "federated-flower/hub.crt").read_text().partition("\n")[2] == CA


REFUSED = Forbidden("hub", "exec python in flower/superlink-0", 403, {"message": "no"})


@pytest.mark.parametrize(
    ("given", "config", "words"),
    [
        ({"name": "a.b"}, MINE, "flower_connect_name: 'a.b' cannot be the name of a connection"),
        ({"port": 70000}, MINE, "flower_connect_port: 70000 is not a port"),
        ({"name": "lab"}, MINE, "flower_connect_name: 'lab' is a connection in .* did not write. Choose another name"),
        ({}, "[superlink\n", "config.toml: .* Correct the file, or move it; nothing was changed"),
        ({}, "superlink = {default = 'x'}\n", "config.toml: the connection does not fit"),
        ({"ca": "/nowhere"}, MINE, "flower_connect_ca: /nowhere is not a file with a certificate"),
        ({"exec": exec_of("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----")}, MINE, "/internal/ca.crt in pod flower/superlink-0 cannot be read"),
        ({"exec": exec_of(REFUSED)}, MINE, "from the operator of the federation, and name its file: -e flower_connect_ca=FILE"),
        ({"required": exec_of(ClusterError("may not: create pods/portforward"))}, MINE, "create pods/portforward"),
        ({"home": "/proc/nothing"}, MINE, "/proc/nothing.* cannot be used: .*FLWR_HOME"),
    ],
)
def test_what_is_refused_changes_nothing(connect: Any, tmp_path: Path, given: dict[str, Any], config: str, words: str) -> None:
    (tmp_path / "config.toml").write_text(config)
    with pytest.raises(ClusterError, match=words):
        connect(**given)
    assert content(tmp_path) == {"config.toml": config}


def test_the_connection_of_another_federation_is_not_replaced(connect: Any, tmp_path: Path) -> None:
    connect()
    before = content(tmp_path)
    words = "is of federation demo in namespace flower of https://hub:6443, and this is federation demo .* https://other:6443"
    with pytest.raises(ClusterError, match=words) as raised:
        connect(server="https://other:6443")
    assert "-e flower_connect_name=hub -e flower_connect_state=absent" in raised.value.message and content(tmp_path) == before


def test_a_connection_of_the_user_stays_when_ours_is_removed(connect: Any, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(MINE)
    assert not connect(name="lab", state="absent")["changed"] and content(tmp_path) == {"config.toml": MINE}
    connect()
    (tmp_path / "config.toml").write_text("")
    assert connect(state="absent")["changed"] and content(tmp_path) == {"config.toml": ""}, "only the certificate was ours"


@each_row(
    ("auth", "command"),
    [
        ({}, "kubectl"),
        ({"context": "a b"}, "kubectl --context 'a b'"),
        ({"kubeconfig": "/a:/b", "context": "x"}, "KUBECONFIG=/a:/b kubectl --context x"),
        ({"host": "https://h", "api_key": "secret", "kubeconfig": {"users": "secret"}}, "kubectl"),
    ],
)
def test_the_command_has_no_credentials(auth: dict[str, Any], command: str) -> None:
    assert forward(auth, "flower", 8001) == f"{command} -n flower port-forward pod/superlink-0 8001:8000"
