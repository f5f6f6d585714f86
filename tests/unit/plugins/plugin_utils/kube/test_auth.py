# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import datetime
import json
import os
import re
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml
from kubernetes.client import ApiException
from kubernetes.config import kube_config
from oauthlib.oauth2 import InvalidGrantError

from ansible_collections.federated.flower.plugins.plugin_utils.kube import auth, exec_plugin
from ansible_collections.federated.flower.plugins.plugin_utils.kube import kubeconfig as kubeconfigs
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import AuthError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import bypasses_proxy, options_of, resolve
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.unit.rows import each_row


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("K8S_AUTH_", "KUBE")) or name.lower() in (
            "http_proxy",
            "https_proxy",
            "no_proxy",
            "all_proxy",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def kubeconfig(count: int = 3, **user: Any) -> dict[str, Any]:
    numbers = range(count)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c1",
        "clusters": [{"name": f"k{n}", "cluster": {"server": f"http://server-{n}:{800 + n}/"}} for n in numbers],
        "contexts": [{"name": f"c{n}", "context": {"cluster": f"k{n}", "user": f"u{n}"}} for n in numbers],
        "users": [{"name": f"u{n}", "user": user or {"token": f"token-{n}"}} for n in numbers],
    }


def written(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return str(path)


def test_environment_has_the_names_of_kubernetes_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_HOST", "https://h")
    monkeypatch.setenv("K8S_AUTH_VERIFY_SSL", "no")
    monkeypatch.setenv("K8S_AUTH_SSL_CA_CERT", "/ca")
    monkeypatch.setenv("K8S_AUTH_IMPERSONATE_GROUPS", "a,b")
    monkeypatch.setenv("K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH", "u:p")
    monkeypatch.setenv("K8S_AUTH_CONTEXT", "from-env")
    assert options_of({"context": "given", "cert_file": "/c", "api_key": None}) == {
        "context": "given",
        "host": "https://h",
        "validate_certs": False,
        "ca_cert": "/ca",
        "client_cert": "/c",
        "proxy_headers": {"proxy_basic_auth": "u:p"},
        "impersonate_groups": ["a", "b"],
    }


def test_context_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path / "k", kubeconfig())
    access = resolve({"kubeconfig": path, "context": "c2"})
    assert (access.name, access.server) == ("c2", "http://server-2:802")
    assert ("Authorization", "Bearer token-2") in access.headers
    assert resolve({"kubeconfig": path}).name == "c1"


def test_several_files_first_one_wins(tmp_path: Path) -> None:
    first, second = kubeconfig(1), kubeconfig(3)
    del first["current-context"]
    first["clusters"][0]["cluster"]["server"] = "http://first"
    paths = os.pathsep.join((written(tmp_path / "a", first), str(tmp_path / "none"), written(tmp_path / "b", second)))
    assert resolve({"kubeconfig": paths, "context": "c0"}).server == "http://first"
    assert resolve({"kubeconfig": paths}).name == "c1"


def test_where_a_cluster_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthError, match="No cluster given"):
        resolve({})
    (tmp_path / "home" / ".kube").mkdir(parents=True)
    written(tmp_path / "home" / ".kube" / "config", kubeconfig())
    assert resolve({}).name == "c1"
    monkeypatch.setenv("KUBECONFIG", written(tmp_path / "other", {**kubeconfig(), "current-context": "c2"}))
    assert resolve({}).name == "c2"
    assert resolve({"context": "c0"}).name == "c0"
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", written(tmp_path / "third", {**kubeconfig(), "current-context": "c0"}))
    assert resolve({}).name == "c0"


def test_host_with_credentials_stands_alone(tmp_path: Path) -> None:
    options = {"kubeconfig": str(tmp_path / "none"), "host": "http://h/", "api_key": "key"}
    access = resolve(options)
    assert access.server == "http://h" and access.headers == [("Authorization", "Bearer key")]
    access = resolve({"host": "http://h", "username": "u", "password": "p"})
    assert access.headers == [("Authorization", "Basic dTpw")]


@pytest.mark.parametrize("variable", ["K8S_AUTH_KUBECONFIG", "KUBECONFIG", ""])
def test_credentials_of_one_server_are_not_sent_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """As of a host whose token is a variable that is empty, or of a login that was left out."""
    (tmp_path / "home" / ".kube").mkdir(parents=True)
    path = written(tmp_path / "home" / ".kube" / "config", kubeconfig())
    if variable:
        monkeypatch.setenv(variable, path)
    with pytest.raises(AuthError, match="are of context c1, another server: they are not sent. Check that the variable of the token"):
        resolve({"host": "https://hospital", "ca_cert": "/ca.crt"})
    assert resolve({"host": "https://hospital", "api_key": "t"}).headers == [("Authorization", "Bearer t")]
    assert resolve({"host": "http://server-1:801"}).headers == [("Authorization", "Bearer token-1")], "the same server"
    tunnel = resolve({"host": "http://127.0.0.1:1", "context": "c2"})
    assert (tunnel.server, tunnel.headers) == ("http://127.0.0.1:1", [("Authorization", "Bearer token-2")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": "nix"}, "has no context 'nix'. It has: c0, c1, c2."),
        ({"kubeconfig": "/no/such/file"}, "No kubeconfig found at /no/such/file. Set flower_kubeconfig of this host"),
    ],
)
def test_errors_name_file_and_context(tmp_path: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(AuthError, match=re.escape(message)):
        resolve({"kubeconfig": written(tmp_path / "k", kubeconfig()), **change})


def test_token_file_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file")
    access = resolve({"kubeconfig": written(tmp_path / "k", kubeconfig(tokenFile="token"))})
    assert ("Authorization", "Bearer from-a-file") in access.headers and access.renewable


@pytest.mark.parametrize(
    "said", ["echo 'log in first: eyJhbGciOi' >&2; exit 3", "echo eyJhbGciOi; exit 1", "echo 'eyJhbGciOi'", "printf 'x\\neyJhbGciOi' >&2; exit 255"]
)
def test_what_an_exec_plugin_says_is_shown_to_those_who_ask_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """It may log its request, with the token."""
    script = tmp_path / "plugin"
    script.write_text(f"#!/bin/sh\n{said}\n")
    script.chmod(0o755)
    shown: list[str] = []
    monkeypatch.setattr(exec_plugin, "show", shown.append)
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}
    with pytest.raises(AuthError, match="returned no credentials: ") as failure:
        resolve({"kubeconfig": kubeconfig(exec=plugin), "context": "c1"})
    assert "eyJ" not in failure.value.message
    assert [str(script) in one and "eyJ" in one for one in shown] == ([True] if ">&2" in said else [False] * len(shown))


def expired(**config: str) -> dict[str, Any]:
    """A kubeconfig with an id-token that was valid until 1970."""
    payload = base64.urlsafe_b64encode(b'{"exp":1}').decode().rstrip("=")
    provider = {"idp-issuer-url": "https://idp", "client-id": "c", "client-secret": "s", "refresh-token": "old", "id-token": f"a.{payload}.c", **config}
    return kubeconfig(**{"auth-provider": {"name": "oidc", "config": provider}})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InvalidGrantError(description="Token has been revoked."), r"InvalidGrantError: \(invalid_grant\) Token has been revoked\. Log in"),
        (urllib3.exceptions.MaxRetryError(None, "https://idp"), "MaxRetryError: None: Max retries exceeded with url: https://idp"),  # type: ignore[arg-type]
        (ApiException(404, "Not Found"), r"ApiException: \(404\)"),
        (Exception("first\x1b\nsecond"), "Exception: first"),
        (KeyError("id_token"), "KeyError: 'id_token'"),
    ],
)
def test_a_refresh_that_fails_is_an_error_of_its_site(monkeypatch: pytest.MonkeyPatch, error: Exception, words: str) -> None:
    """Whatever class the packages have for it."""

    def refresh(_loader: Any, _provider: Any) -> None:
        raise error

    monkeypatch.setattr(kube_config.KubeConfigLoader, "_refresh_oidc", refresh)
    with pytest.raises(AuthError, match=f"^The auth provider 'oidc' of user 'u1' .*context c1.* returned no new token: {words}") as failure:
        resolve({"kubeconfig": expired()})
    assert failure.value.message.endswith(". Log in again, or use an exec plugin.") and "second" not in failure.value.message


@pytest.mark.parametrize("text", ["apiVersion: v1\nusers: [{name: a, user: {token: s3cr3t}}]\n", ' {"users": [{"user": {"token": "s3cr3t"}}]}'])
def test_the_text_of_a_kubeconfig_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(AuthError, match=r"flower_kubeconfig.* is neither a path nor the content .* from_yaml") as failure:
        resolve({"kubeconfig": text})
    assert "s3cr3t" not in failure.value.message


def test_the_text_of_a_key_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("x")
    with pytest.raises(AuthError, match=r"client_key\) is a text of several lines: set the path") as failure:
        resolve({"host": "https://x", "client_cert": str(tmp_path / "cert"), "client_key": "-----BEGIN PRIVATE KEY-----\ns3cr3t\n"})
    assert "s3cr3t" not in failure.value.message and failure.value.__cause__ is None


def test_a_refresh_without_an_answer_ends_and_delays_no_other_site(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ended = threading.Event(), threading.Event()

    def refresh(_loader: Any, _provider: Any) -> None:
        asked.set()
        ended.wait(20)

    monkeypatch.setattr(kube_config.KubeConfigLoader, "_refresh_oidc", refresh)
    monkeypatch.setattr(exec_plugin, "LIMIT", 1.5)
    with ThreadPoolExecutor(1) as pool:
        silent = pool.submit(resolve, {"kubeconfig": expired()})
        assert asked.wait(10)
        assert resolve({"kubeconfig": kubeconfig()}).name == "c1" and not silent.done()
        with pytest.raises(AuthError, match="there was no answer within 1.5 s, so check the route to the identity provider. Log in again"):
            silent.result(10)
    ended.set()


def test_a_login_that_is_written_back_is_renewed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Identity providers accept a refresh token once."""
    sent: list[str] = []

    def refresh(_loader: Any, provider: Any) -> None:
        config = provider["config"].value
        sent.append(config["refresh-token"])
        time.sleep(0.2)  # the time in which the other one would send it again
        config.update({"id-token": f"a.{payload}.c", "refresh-token": "next"})

    payload = base64.urlsafe_b64encode(b'{"exp":4000000000}').decode().rstrip("=")
    monkeypatch.setattr(kube_config.KubeConfigLoader, "_refresh_oidc", refresh)
    path = tmp_path / "config"
    path.write_text(json.dumps(expired()))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(resolve, [{"kubeconfig": str(path), "persist_config": True}] * 2))
    assert [one.headers for one in found] == [[("Authorization", f"Bearer a.{payload}.c")]] * 2 and sent == ["old"]


def test_a_token_is_refreshed_with_the_ca_of_the_identity_provider_and_no_file_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def refresh(_loader: Any, provider: Any) -> None:
        config = provider["config"].value
        assert "idp-certificate-authority-data" not in config
        seen.append(config["idp-certificate-authority"])
        assert Path(seen[0]).read_text() == "the CA"
        config.update({"id-token": "new", "refresh-token": "next"})

    monkeypatch.setattr(kube_config.KubeConfigLoader, "_refresh_oidc", refresh)
    given = expired(**{"idp-certificate-authority-data": base64.b64encode(b"the CA").decode()})
    assert resolve({"kubeconfig": given}).headers == [("Authorization", "Bearer new")]
    config = given["users"][1]["user"]["auth-provider"]["config"]
    assert (config["id-token"], config["refresh-token"]) == ("new", "next") and "idp-certificate-authority" not in config
    assert not Path(seen[0]).exists()


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ('{"credential": {"access_token": "fresh", "token_expiry": "2100-01-01T00:00:00Z"}}', ""),
        ("eyJhbGciOi", "returned no new token: ConfigException: "),
        ("eyJhbGciOi >&2; exit 3; echo ", "returned no new token: ConfigException: cmd-path: process returned 3. Log in"),
    ],
)
def test_the_program_of_a_gcp_entry_gives_a_token_and_what_else_it_prints_is_not_shown(tmp_path: Path, printed: str, words: str) -> None:
    program = tmp_path / "gcloud"
    program.write_text(f"#!/bin/sh\necho {printed if '>' in printed else repr(printed)}\n")
    program.chmod(0o755)
    options = {"kubeconfig": kubeconfig(**{"auth-provider": {"name": "gcp", "config": {"cmd-path": str(program)}}})}
    if not words:
        assert resolve(options).headers == [("Authorization", "Bearer fresh")]
        return
    with pytest.raises(AuthError, match=f"auth provider 'gcp' of user 'u1' .*{words}") as failure:
        resolve(options)
    assert "eyJ" not in failure.value.message


def test_no_file_is_left_even_if_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(auth, "_SHM", str(tmp_path / "no-shm"))
    (tmp_path / "tmp").mkdir()
    config = kubeconfig(**{"client-certificate-data": "bm90IGEgY2VydA==", "client-key-data": "bm90IGEga2V5"})
    config["clusters"][1]["cluster"] = {"server": "https://h", "insecure-skip-tls-verify": True}
    with pytest.raises(AuthError, match="client certificate for https://h cannot be used"):
        resolve({"kubeconfig": config})
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("form", [yaml.safe_dump, json.dumps, lambda data: yaml.safe_dump(data, default_flow_style=True)])
def test_a_file_is_parsed_once(tmp_path: Path, form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All sites may be contexts of one."""
    path = written(tmp_path / "k", form(kubeconfig(400)))
    assert resolve({"kubeconfig": path, "context": "c200"}).server == "http://server-200:1000"
    with monkeypatch.context() as unread:
        unread.setattr(kubeconfigs.yaml, "load", lambda *_given, **_options: pytest.fail("parsed"))
        assert resolve({"kubeconfig": path}).name == "c1"
    written(tmp_path / "k", form({**kubeconfig(2), "current-context": "c0"}))
    assert resolve({"kubeconfig": path}).name == "c0"


def test_the_same_name_twice_is_an_error(tmp_path: Path) -> None:
    data = kubeconfig()
    data["contexts"].append(data["contexts"][0])
    with pytest.raises(AuthError, match="more than one entry 'c0'"):
        resolve({"kubeconfig": written(tmp_path / "k", data), "context": "c0"})


# ---- proxies ---------------------------------------------------------------------------------------------------------


@each_row(
    ("host", "no_proxy", "expected"),
    [
        ("api.example.com", "example.com", True),
        ("api.example.com", ".example.com", True),
        ("api.example.com", "*.example.com", True),
        ("badexample.com", "example.com", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("11.1.2.3", "10.0.0.0/8,192.168.0.0/16", False),
        ("anything", "*", True),
        ("anything", " , other", False),
        ("h", "h:6443", True),
        ("h", "h:443", False),
        ("fd00::1", "fd00::/8", True),
    ],
)
def test_no_proxy(host: str, no_proxy: str, expected: bool) -> None:
    assert bypasses_proxy(host, 6443, no_proxy) is expected


def test_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "k", kubeconfig())
    assert resolve({"kubeconfig": path}).proxy is None
    access = resolve({"kubeconfig": path, "proxy": "http://u:p%40@proxy:3128", "no_proxy": "other"})
    assert access.proxy_headers == {"proxy-authorization": "Basic dTpwQA=="}
    assert access.proxy == "http://proxy:3128"
    assert resolve({"kubeconfig": path, "proxy": "http://proxy:3128", "no_proxy": "server-1"}).proxy is None
    monkeypatch.setenv("http_proxy", "http://env:1")
    assert resolve({"kubeconfig": path}).proxy == "http://env:1"
    monkeypatch.setenv("no_proxy", "server-1")
    assert resolve({"kubeconfig": path}).proxy is None
    data = kubeconfig()
    data["clusters"][1]["cluster"]["proxy-url"] = "http://of-the-cluster:1"
    assert resolve({"kubeconfig": data}).proxy == "http://of-the-cluster:1"


def test_threads_with_one_kubeconfig_do_not_take_each_others_files() -> None:
    # With a CA of its own a connection does not load the machine's, which takes longer than all else.
    ca = certificates.make_ca("test", datetime.timedelta(days=1))
    user = {"certificate": ca.certificate, "key": ca.key}
    data = {f"client-{name}-data": base64.b64encode(text.encode()).decode() for name, text in user.items()}
    config = kubeconfig(**data)
    for entry in config["clusters"]:
        entry["cluster"] = {"server": "https://server", "certificate-authority-data": data["client-certificate-data"]}
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda number: resolve({"kubeconfig": config, "context": "c0"}).name, range(200)))
    assert names == ["c0"] * 200


@pytest.mark.parametrize("name", ["ca_cert", "client_cert", "client_key"])
def test_a_file_that_is_not_there_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ca = certificates.make_ca("test", datetime.timedelta(days=1))
    (tmp_path / "there.pem").write_text(ca.certificate + ca.key)
    given = dict.fromkeys(("ca_cert", "client_cert", "client_key"), "there.pem")
    assert resolve({"host": "https://api.example.com:6443", **given}).identified
    with pytest.raises(AuthError, match=rf"\({name}\) cannot be read: {tmp_path}/missing.pem: No such file or directory"):
        resolve({"host": "https://api.example.com:6443", **given, name: "missing.pem"})
