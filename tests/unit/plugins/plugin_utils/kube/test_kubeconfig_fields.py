# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Access as kubectl has it: every field of a kubeconfig is used, has no effect for a stated reason, or is refused by name."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.kube import auth
from ansible_collections.federated.flower.plugins.plugin_utils.kube.access_fields import FIELDS, UNUSED
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import AuthError

ROOT = Path(__file__).parents[5]
SERVER = "https://api.site-a.example:6443"
# https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/: fields of Context, Cluster, AuthInfo and ExecConfig.
CLIENT_GO = {
    "context": "cluster user namespace extensions",
    "cluster": "server tls-server-name insecure-skip-tls-verify certificate-authority certificate-authority-data proxy-url disable-compression extensions",
    "user": "client-certificate client-certificate-data client-key client-key-data token tokenFile as as-uid as-groups as-user-extra username password "
    "auth-provider exec extensions",
    "exec": "command args env apiVersion installHint provideClusterInfo interactiveMode",
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("K8S_AUTH_", "KUBE")) or name.lower() in ("http_proxy", "https_proxy", "no_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def config(server: str = SERVER, **user: Any) -> dict[str, Any]:
    return {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "a", "user": user}],
    }


def headers(options: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in auth.resolve(options).headers:
        found.setdefault(name, []).append(value)
    return found


def file(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def ways(tmp_path: Path, content: dict[str, Any]) -> list[dict[str, Any]]:
    """The three ways in which a kubeconfig is read."""
    path = file(tmp_path / "kubeconfig", content)
    return [{"kubeconfig": content}, {"kubeconfig": path}, {"kubeconfig": path, "persist_config": True}]


def test_the_table_has_every_field_of_client_go() -> None:
    assert {section: set(fields) for section, fields in FIELDS.items()} == {section: set(text.split()) for section, text in CLIENT_GO.items()}


def test_the_guide_has_the_table() -> None:
    guide = (ROOT / "docs/docsite/rst/guide_settings.rst").read_text()
    assert UNUSED.keys() <= {name for fields in FIELDS.values() for name in fields}
    for name in (name for fields in FIELDS.values() for name in fields):
        assert f"``{name}``" in guide and UNUSED.get(name, "") in guide, name


FULL = {"token": "t", "as": "system:serviceaccount:flower:deployer", "as-uid": "42", "as-groups": ["flower-operators", "x"]}


def test_impersonation(tmp_path: Path) -> None:
    given = config(**FULL, **{"as-user-extra": {"reason": ["deploy", "again"], "example.com/Team %": ["ü"]}})
    for options in ways(tmp_path, given):
        assert headers(options) == {
            "Authorization": ["Bearer t"],
            "Impersonate-User": [FULL["as"]],
            "Impersonate-Uid": ["42"],
            "Impersonate-Group": FULL["as-groups"],
            "Impersonate-Extra-reason": ["deploy", "again"],
            "Impersonate-Extra-example.com%2FTeam%20%25": ["ü"],
        }


@pytest.mark.parametrize(
    ("option", "header", "value"),
    [({"impersonate_user": "jane"}, "Impersonate-User", ["jane"]), ({"impersonate_groups": ["g"]}, "Impersonate-Group", ["g"])],
)
def test_an_option_wins_over_its_field(option: dict[str, Any], header: str, value: list[str]) -> None:
    plain = headers({"kubeconfig": config(**FULL)})
    assert headers({"kubeconfig": config(**FULL), **option}) == {**plain, header: value}
    assert headers({"kubeconfig": config(**FULL), **option, "api_key": "other"})["Authorization"] == ["Bearer other"]


@pytest.mark.parametrize(
    "user", [{"as-groups": ["g"]}, {"as-uid": "1"}, {"as-user-extra": {"a": ["b"]}}, {"as": "", "as-groups": ["g"]}, {"as": None, "as-uid": "1"}]
)
def test_a_group_without_a_user_is_refused(tmp_path: Path, user: dict[str, Any]) -> None:
    for options in ways(tmp_path, config(token="t", **user)):
        with pytest.raises(AuthError, match="without a user to impersonate"):
            auth.resolve(options)
    with pytest.raises(AuthError, match="without a user to impersonate"):
        auth.resolve({"host": SERVER, "api_key": "t", "impersonate_groups": ["g"]})


@pytest.mark.parametrize(
    ("user", "named"),
    [
        ({"as": 5}, "'as'"),
        ({"as": "x", "as-uid": 42}, "'as-uid'"),
        ({"as": "x", "as-groups": "g"}, "'as-groups'"),
        ({"as": "x", "as-groups": [1]}, "'as-groups'"),
        ({"as": "x", "as-user-extra": {"reason": "deploy"}}, "'as-user-extra'"),
        ({"as": "x", "as-user-extra": ["reason"]}, "'as-user-extra'"),
        ({"exec": {"command": "x", "provideClusterInfo": "yes"}}, "'provideClusterInfo'"),
    ],
)
def test_a_field_of_another_type_is_named(tmp_path: Path, user: dict[str, Any], named: str) -> None:
    for options in ways(tmp_path, config(token="t", **user)):
        with pytest.raises(AuthError, match=named):
            auth.resolve(options)


@pytest.mark.parametrize(
    ("name", "password"), [("u", "p:w"), ("u", ""), ("u", None), ("ü", "pässwörd"), ("u", "€")]
)
def test_user_and_password(tmp_path: Path, name: str, password: str | None) -> None:
    expected = "Basic " + b64encode(f"{name}:{password or ''}".encode()).decode()
    for options in ways(tmp_path, config(username=name, password=password)):
        assert headers(options) == {"Authorization": [expected]}
        assert auth.resolve(options).identified
    assert headers({"kubeconfig": config(username=name, password=password), "api_key": "t"}) == {"Authorization": ["Bearer t"]}


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"token": "t", "username": "u", "password": "p"}, ["'token'", "'username'"]),
        ({"token": "t", "password": "p"}, ["'token'", "'password'"]),
        ({"exec": {"command": "x", "apiVersion": "v1"}, "auth-provider": {"name": "oidc"}}, ["'exec'", "'auth-provider'"]),
        ({"auth-provider": {"name": "azure"}}, ["'auth-provider'", "azure"]),
        ({"exec": {"command": "x", "apiVersion": "v1", "interactiveMode": "Always"}}, ["'interactiveMode'", "playbook"]),
    ],
)
def test_what_kubectl_refuses_or_ansible_cannot_do_is_named(tmp_path: Path, user: dict[str, Any], words: list[str]) -> None:
    for options in ways(tmp_path, config(**user)):
        with pytest.raises(AuthError) as told:
            auth.resolve(options)
        assert "user 'a'" in str(told.value) and all(word in str(told.value) for word in words)


def test_a_field_without_a_value_is_not_set(tmp_path: Path) -> None:
    token = file(tmp_path / "token", "from-the-file\n")
    for given in ({"token": ""}, {"token": None}, {"token": "older"}):
        for options in ways(tmp_path, config(**given, tokenFile=token)):
            assert headers(options) == {"Authorization": ["Bearer from-the-file"]}
    for options in ways(tmp_path, config(token="t", tokenFile="", exec=None, **{"as": "", "auth-provider": None})):
        assert headers(options) == {"Authorization": ["Bearer t"]}


def test_the_hint_of_a_plugin_that_is_not_installed_is_shown(tmp_path: Path) -> None:
    plugin = {"command": str(tmp_path / "no-such-plugin"), "apiVersion": "client.authentication.k8s.io/v1", "installHint": "Install it with brew."}
    with pytest.raises(AuthError, match=r"no-such-plugin.*Install it with brew\."):
        auth.resolve({"kubeconfig": config(exec=plugin)})


LOOPBACK = [
    "https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443", "https://127.0.0.2:1234", "https://LOCALHOST",
    "https://[::ffff:127.0.0.1]:1",
]  # fmt: skip


@pytest.mark.parametrize("server", LOOPBACK)
def test_the_machine_itself_is_not_reached_through_the_proxy_of_the_environment(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.corp.example:3128")
    assert auth.resolve({"kubeconfig": config(server, token="t")}).proxy is None
    assert auth.resolve({"host": server, "api_key": "t", "validate_certs": False}).proxy is None
    assert auth.resolve({"kubeconfig": config(server, token="t"), "proxy": "http://given:1"}).proxy == "http://given:1"
    named = config(server, token="t")
    named["clusters"][0]["cluster"]["proxy-url"] = "http://named:1"
    assert auth.resolve({"kubeconfig": named}).proxy == "http://named:1"


@pytest.mark.parametrize("server", ["https://10.0.0.1", "https://localhost.example.com", "https://128.0.0.1", "https://[fd00::1]"])
def test_other_machines_are(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.corp.example:3128")
    assert auth.resolve({"kubeconfig": config(server, token="t")}).proxy == "http://proxy.corp.example:3128"


@pytest.mark.parametrize("empty", ["", "# nothing here\n", "\n\n", "---\n", "null\n", "{}\n"])
@pytest.mark.parametrize("persist", [False, True])
def test_an_empty_file_has_no_entries(tmp_path: Path, empty: str, persist: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    none, good = file(tmp_path / "empty", empty), file(tmp_path / "good", config(token="t"))
    more = {"persist_config": True} if persist else {}
    for paths in ([none, good], [good, none], ["/dev/null", good], [none, none, good], [none, str(tmp_path / "missing"), good]):
        joined = os.pathsep.join(paths)
        assert auth.resolve({"kubeconfig": joined, **more}).name == "a"
        monkeypatch.setenv("KUBECONFIG", joined)
        assert auth.resolve(more).name == "a"


def test_an_empty_file_alone_has_no_context(tmp_path: Path) -> None:
    path = file(tmp_path / "empty", "")
    with pytest.raises(AuthError, match="has no current-context"):
        auth.resolve({"kubeconfig": path})
    with pytest.raises(AuthError, match="has no context 'a'"):
        auth.resolve({"kubeconfig": path, "context": "a"})
    for content in ("- a\n", "text\n", json.dumps([1])):
        with pytest.raises(AuthError, match="is not a kubeconfig"):
            auth.resolve({"kubeconfig": file(tmp_path / "other", content)})
