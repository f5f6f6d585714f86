# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site that reaches the hub through a real squid, or tinyproxy: runs, a proxy that restarts, refusals, and interception."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries, secret
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import sidecar
from ansible_collections.federated.flower.tests.integration import tinyproxy
from ansible_collections.federated.flower.tests.integration.local_proxy import LocalProxy
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE
from ansible_collections.federated.flower.tests.integration.squid import INTERCEPTING, LOGIN, NARROW, OPEN, Squid

USER, PASSWORD = "site-a-at-proxy", "password-of-the-http-proxy"
WRONG = "not-the-password-of-the-proxy"
IDLE = 8  # seconds; a SuperNode sends a heartbeat every 30
SITE = "site-a"
MEGABYTES = 100

_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "big"
version = "1.0.0"
dependencies = ["flwr>=1.40", "numpy>=1.26"]
[tool.hatch.build.targets.wheel]
packages = ["big"]
[tool.flwr.app]
publisher = "federated-flower"
[tool.flwr.app.components]
serverapp = "big.app:server"
clientapp = "big.app:client"
[tool.flwr.app.config]
megabytes = 100
rounds = 3
"""
_APP = """\
import time

import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

server = ServerApp()
client = ClientApp()


@client.train()
def train(msg, context):
    return Message(content=RecordDict({"arrays": msg.content["arrays"]}), reply_to=msg)


@server.main()
def main(grid, context):
    model = ArrayRecord([np.random.default_rng(1).random(int(context.run_config["megabytes"]) * 125000)])
    while len(nodes := sorted(grid.get_node_ids())) < 3:
        time.sleep(1)
    for number in range(int(context.run_config["rounds"])):
        begun = time.monotonic()
        content = RecordDict({"arrays": model})
        replies = list(grid.send_and_receive([Message(content=content, message_type="train", dst_node_id=node) for node in nodes], timeout=300))
        assert len(replies) == len(nodes) and not any(one.has_error() for one in replies), replies
        print(f"exchange {number}: {time.monotonic() - begun:.1f} s", flush=True)
"""


@pytest.fixture(scope="module")
def squid(federation: Any) -> Iterator[Squid]:
    """The proxy, for the port of this federation's hub."""
    federation.settle()
    door = federation.door()
    made = Squid(door["host"], door["port"], (USER, PASSWORD), IDLE, {"hub.fleet.test": door["host"]})
    with made:
        yield made


def through(fed: Any, squid: LocalProxy, kind: str, password: str = "", **more: Any) -> dict[str, Any]:
    """The base inventory with a site behind a kind of proxy. Pods that are not ready are not waited for long."""
    hosts = fed.base()
    hosts[SITE]["supernode_wait_timeout"] = 90
    hosts[SITE]["supernode_http_proxy"] = {"address": squid.address(kind), **more}
    if password:
        hosts[SITE]["supernode_http_proxy_credentials"] = {"username": USER, "password": password}
    return hosts


def refused(fed: Any, hosts: dict[str, Any], words: str) -> None:
    """site.yml says at once what is wrong with the proxy, and the pods stay."""
    lives = fed.lives(SITE)
    said = fed.play("site", "--limit", SITE, hosts=hosts, rc=2).messages(SITE, failed=True)
    assert words in said, said
    assert fed.lives(SITE) == lives
    assert PASSWORD not in said and WRONG not in said


@pytest.mark.soak
def test_a_run_through_a_proxy_without_a_login(federation, squid):
    """And with a login that was taken away."""
    fed = federation
    fed.settle()
    fed.site(through(fed, squid, LOGIN, PASSWORD), "--limit", SITE)
    assert fed.cluster(SITE).get("v1", "Secret", sidecar.SECRET, NAMESPACE)
    hosts = through(fed, squid, OPEN)
    fed.site(hosts, "--limit", SITE)
    assert fed.cluster(SITE).get("v1", "Secret", sidecar.SECRET, NAMESPACE) is None
    begun = len(squid.log())
    run, finish = fed.begin(**{"num-server-rounds": 1, "min-nodes": 3})
    assert not finish().rc and fed.app_runs()[run] == "finished:completed"
    passed = [line for line in squid.log()[begun:] if line[3] == "TCP_TUNNEL/200"]
    assert passed and {line[7] for line in passed} == {"-"}, squid.log()[-5:]
    fed.unchanged(hosts, "--limit", SITE)


@pytest.mark.soak
def test_a_run_through_a_proxy_with_a_login(federation, squid):
    """The proxy is killed in the run and comes back; it cuts what is silent for less time than a heartbeat takes."""
    fed = federation
    fed.settle()
    nodes = fed.keys(SITE)
    hosts = through(fed, squid, LOGIN, PASSWORD)
    fed.site(hosts, "--limit", SITE)
    assert fed.keys(SITE) == nodes
    lives = fed.lives(SITE)
    assert entries(fed.cluster(SITE).get("v1", "Secret", sidecar.SECRET, NAMESPACE))["password"] == PASSWORD
    fed.unchanged(hosts, "--limit", SITE)

    begun = len(squid.log())
    run, finish = fed.begin(**{"num-server-rounds": 2, "min-nodes": 3})
    squid.stop()
    time.sleep(4)  # an outage of that length
    squid.start()
    assert not finish().rc and fed.app_runs()[run] == "finished:completed"
    assert fed.lives(SITE) == lives, "a SuperNode did not survive"
    passed = [line for line in squid.log()[begun:] if line[3] == "TCP_TUNNEL/200"]
    assert passed and {line[7] for line in passed} == {USER}, squid.log()[-5:]
    own = {f"{fed.door()['host']}:{fed.door()['port']}"}
    assert {line[6] for line in passed} == own

    # Longer than any heartbeat, with a proxy that cuts after 8 seconds.
    fed.wait_online(*nodes.values())
    run = fed.play("verify", "--limit", f"{SITE},hub", hosts=hosts)
    found = run.measured[SITE]
    texts = {one["name"]: one["text"] for one in found["checks"]}
    assert texts["HTTP proxy"] == f"the hub answers through the HTTP proxy {squid.address(LOGIN)}", found
    assert "of the HTTP proxy" in texts["port"] and found["accepted"], found
    table = fed.play("status", hosts=hosts).table
    assert f"HTTP proxy {squid.address(LOGIN)}: {SITE}" in table, table
    assert fed.lives(SITE) == lives


@pytest.mark.soak
def test_what_a_proxy_refuses_is_said(federation, squid):
    """A wrong password, a port that is not allowed, interception of TLS, no proxy; then a login from a Secret of the site, and none."""
    fed = federation
    hosts = through(fed, squid, LOGIN, WRONG)
    fed.settled = False
    if not fed.cluster(SITE).get("v1", "ConfigMap", sidecar.PROXY_TUNNEL_CONFIG, NAMESPACE):
        fed.site(through(fed, squid, LOGIN, PASSWORD), "--limit", SITE)
    lives = fed.lives(SITE)
    nodes = fed.keys(SITE).values()
    refused(fed, hosts, "does not accept the credentials (Proxy Authentication Required)")
    refused(fed, through(fed, squid, NARROW, PASSWORD), "(Forbidden): have this host and port allowed there")
    refused(fed, through(fed, squid, INTERCEPTING, PASSWORD), "certificate verify failed). A proxy that intercepts TLS must except")
    code, _answer = fed.probe(SITE)
    assert code == 503, "what intercepts TLS got an answer"
    away = through(fed, squid, OPEN, PASSWORD)
    away[SITE]["supernode_http_proxy"]["address"] = f"{squid.host}:1"
    refused(fed, away, "cannot be reached (Connection refused)")
    fed.site(through(fed, squid, OPEN, PASSWORD), "--limit", SITE)
    fed.wait_online(*nodes)
    assert fed.lives(SITE) == lives, "a SuperNode did not survive"


@pytest.mark.soak
def test_a_login_of_the_site(federation, squid):
    """A Secret that the site made, which must be there first; without a proxy, the way is the direct one, and our Secret is gone."""
    fed = federation
    fed.settled = False
    hosts = through(fed, squid, LOGIN, secret="office-proxy", username_key="user")
    said = fed.play("site", "--limit", SITE, hosts=hosts, rc=2).messages(SITE, failed=True)
    assert f"Secret {NAMESPACE}/office-proxy (supernode_http_proxy.secret) does not exist" in said, said
    data = {"user": USER, "password": f"{PASSWORD}\n"}
    fed.cluster(SITE).create(secret("other", NAMESPACE, "office-proxy", data, application="theirs"))
    fed.site(hosts, "--limit", SITE)
    fed.wait_online(*fed.keys(SITE).values())
    assert fed.cluster(SITE).get("v1", "Secret", sidecar.SECRET, NAMESPACE) is None
    fed.site(None, "--limit", SITE)
    assert fed.cluster(SITE).get("v1", "ConfigMap", sidecar.PROXY_TUNNEL_CONFIG, NAMESPACE) is None
    assert fed.cluster(SITE).get("v1", "Secret", "office-proxy", NAMESPACE) is not None
    fed.cluster(SITE).delete("v1", "Secret", "office-proxy", NAMESPACE)
    fed.settled = True


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """An app that sends a model of 100 MB to all nodes and back, three times."""
    (tmp_path / "app" / "big").mkdir(parents=True)
    (tmp_path / "app" / "pyproject.toml").write_text(_PROJECT)
    (tmp_path / "app" / "big" / "__init__.py").touch()
    (tmp_path / "app" / "big" / "app.py").write_text(_APP)
    return tmp_path / "app"


@pytest.mark.soak
def test_how_fast_models_pass(federation, squid, big):
    """The same exchange of models of 100 MB, directly and through the proxy, twice in turn."""
    fed = federation
    fed.settle()
    found: dict[str, list[float]] = {"direct": [], "proxy": []}
    for _turn in range(2):
        for way in found:
            hosts = fed.base() if way == "direct" else through(fed, squid, LOGIN, PASSWORD)
            fed.site(hosts)
            fed.wait_online(*fed.keys(SITE).values())
            given = {"flower_app": str(big), "flower_run_config": {"megabytes": MEGABYTES}}
            run = fed.play("run", "-e", json.dumps(given), hosts=hosts)
            found[way] += [float(one) for one in re.findall(r"exchange \d: ([0-9.]+) s", run.output)]
    print({way: sorted(set(seconds)) for way, seconds in found.items()})
    assert all(len(set(seconds)) >= 3 for seconds in found.values()), found
    fed.settled = False


@pytest.mark.soak
def test_a_long_outage_of_the_proxy(federation, squid):
    """Three minutes without a proxy: SuperNodes are offline, live on, and come back by themselves."""
    fed = federation
    hosts = through(fed, squid, LOGIN, PASSWORD)
    fed.site(hosts)
    nodes, lives = fed.keys(SITE).values(), fed.lives(SITE)
    squid.stop()
    fed.wait("pods that are not ready", lambda: not any(
        one["status"] == "True" for pod in fed.pods(SITE).values() for one in pod["status"]["conditions"] if one["type"] == "Ready"
    ), 180)  # fmt: skip
    table = "\n".join(fed.play("status", hosts=hosts).table)
    assert "tunnel runs but is not ready" in table, table
    time.sleep(100)
    squid.start()
    begun = time.monotonic()
    fed.wait_online(*nodes)
    print(f"online {time.monotonic() - begun:.0f} s after the proxy was back")
    assert fed.lives(SITE) == lives
    fed.settled = False


@pytest.mark.soak
def test_another_proxy(federation):
    """Tinyproxy has other words for what it refuses: Unauthorized for a wrong password, and Access violation for a port."""
    fed = federation
    fed.settle()
    nodes = fed.keys(SITE).values()
    door = fed.door()
    proxy = tinyproxy.Tinyproxy(door["host"], door["port"], (USER, PASSWORD), IDLE)
    with proxy:
        hosts = through(fed, proxy, tinyproxy.LOGIN, PASSWORD)
        foreseen = fed.site(hosts, "--limit", SITE, "--check")
        assert foreseen.changed[SITE] and fed.cluster(SITE).get("v1", "ConfigMap", sidecar.PROXY_TUNNEL_CONFIG, NAMESPACE) is None
        fed.settled = False
        fed.site(hosts, "--limit", SITE)
        fed.wait_online(*nodes)
        fed.unchanged(hosts, "--limit", SITE)
        lives = fed.lives(SITE)
        run, finish = fed.begin(**{"num-server-rounds": 2, "min-nodes": 3})
        assert not finish().rc and fed.app_runs()[run] == "finished:completed"
        refused(fed, through(fed, proxy, tinyproxy.LOGIN, WRONG), "does not accept the credentials (Unauthorized)")
        refused(fed, through(fed, proxy, tinyproxy.NARROW, PASSWORD), "(Access violation): have this host and port allowed there")
        fed.site(hosts, "--limit", SITE)
        fed.wait_online(*nodes)
        assert fed.lives(SITE) == lives, "a SuperNode did not survive"
        fed.site(None, "--limit", SITE)
    fed.settled = True
