# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnel's script with a socat that says what socat said, and what the pod's containers may see."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import OPS_PORT
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import sidecar, supernode

AT = "2026/11/24 22:01:49 "
# Recorded: socat 1.7.4.4 of Debian 12, 1.8.0.3 of Debian 13, with squid 5.7, tinyproxy 1.11, and a program in place of the proxy.
OPEN = "socat[7] N starting data transfer loop with FDs [6,6] and [5,5]"
SAID = [
    ("socat[7] E CONNECT hub:9092: Proxy Authentication Required", 1, "does not accept the credentials (Proxy Authentication Required)"),
    ("socat1[7] W CONNECT hub:9092: Proxy Authentication Required", 1, "does not accept the credentials (Proxy Authentication Required)"),
    ("socat1[7] W CONNECT hub:9092: Unauthorized", 1, "does not accept the credentials (Unauthorized)"),
    ("socat[7] E CONNECT hub:9092: Forbidden", 1, "refuses CONNECT to hub.example.com:9092 (Forbidden)"),
    ("socat1[7] W CONNECT hub:9092: Access violation", 1, "refuses CONNECT to hub.example.com:9092 (Access violation)"),
    ("socat[7] E CONNECT hub:9092: Service Unavailable", 2, "does not reach hub.example.com:9092 (Service Unavailable)"),
    ("socat[7] E connect(5, AF=2 192.0.2.3:3128, 16): Connection refused", 1, "cannot be reached (Connection refused)"),
    ("socat1[7] E PROXY:proxy:...,proxyport=3128: Connection refused", 1, "cannot be reached (Connection refused)"),
    ('socat[7] E getaddrinfo("proxy", "NULL", {1,0,1,6}, {}): Name or service not known', 1, "cannot be reached (Name or service"),
    ("socat[7] E proxy_connect: connection closed by proxy", 1, "does not answer as an HTTP proxy does (proxy_connect: connection closed"),
    ('socat1[7] W proxy: invalid answer "SSH-2.0-OpenSSH"', 1, "does not answer as an HTTP proxy does"),
]
GOOD = "HTTP/1.1 200 OK\r\n\r\nserial=1"
AWAY = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 107\r\nx-why: {}\r\n\r\n"
REFUSED = "SSL handshake failure error:0A000086:SSL routines::certificate verify failed"


class Pod:
    """The script in a folder, with a program in place of socat: as a listener it prints C(log), as a client C(answer)."""

    def __init__(self, folder: Path, spec) -> None:
        self.folder = folder
        for name in ("etc", "run", "given", "bin"):
            (folder / name).mkdir()
        data = sidecar.config_objects(spec)[-1]["data"]
        for name, text in data.items():
            for place, there in (("/etc/tunnel", "etc"), ("/run/tunnel", "run"), ("given=/http-proxy", "given")):
                text = text.replace(place, f"{'given=' if there == 'given' else ''}{folder / there}")
            (folder / "etc" / name).write_text(text)
        program = folder / "bin" / "socat"
        listens = f'echo "$@" >{folder}/arguments; cat {folder}/log >&2; exec sleep 60'
        program.write_text(f'#!/bin/sh\ncase "$*" in\n*8404*) cat {folder}/answer ;;\n*) {listens} ;;\nesac\n')
        program.chmod(0o755)
        # The script counts its looks: they are 0.1 s apart here.
        pause = folder / "bin" / "sleep"
        pause.write_text(f'#!/bin/sh\n[ "$1" = 60 ] || set -- 0.1\nexec {shutil.which("sleep")} "$1"\n')
        pause.chmod(0o755)
        (folder / "answer").touch()
        (folder / "log").touch()

    def start(self, *words: str) -> subprocess.Popen[str]:
        env = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        command = ["sh", str(self.folder / "etc" / "tunnel.sh"), *words]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, *words: str) -> tuple[int, str]:
        one = self.start(*words)
        said = one.communicate(timeout=60)[0]
        return one.returncode, said.strip()


@pytest.fixture
def pod(tmp_path, parsed_site) -> Pod:
    return Pod(tmp_path, parsed_site(http_proxy={"address": "proxy:3128", "secret": "login"}))


@pytest.fixture
def follow(pod):
    """Function: what the script printed of some lines of socat, and the fault that it kept."""

    def run(*lines: str) -> tuple[list[str], str]:
        (pod.folder / "log").write_text("".join(f"{AT}{line}\n" for line in lines))
        one = pod.start("run")
        printed = []
        try:
            assert one.stdout is not None
            for line in one.stdout:
                printed.append(line.strip())
                if line.startswith("end"):
                    break
        finally:
            one.terminate()
            one.wait(timeout=30)
        fault = pod.folder / "run" / "fault"
        return printed[:-1], fault.read_text().strip() if fault.exists() else ""

    return run


END = "socat[1] E end"


@pytest.mark.parametrize(("line", "kind", "words"), SAID)
def test_what_socat_says(line, kind, words, follow):
    printed, fault = follow(line, line, END)
    assert len(printed) == 1 and words in printed[0], printed
    assert fault == f"{kind} {printed[0]}"


def test_a_fault_is_over_with_the_next_tunnel(follow):
    printed, fault = follow(SAID[0][0], OPEN, OPEN, "socat[7] E write(6, 0x7fe6add23000, 24): Broken pipe", END)
    assert [one.partition(" (")[0] for one in printed] == [
        "the HTTP proxy proxy:3128 does not accept the credentials", "the HTTP proxy proxy:3128 lets connections to hub.example.com:9092 pass",
    ]  # fmt: skip
    assert fault == ""


def test_credentials_are_in_no_argument_and_no_output(pod, follow):
    (pod.folder / "given" / "username").write_text("us%er\n")
    (pod.folder / "given" / "password").write_text("hun\\n:ter'\"$2")
    printed, _fault = follow(OPEN, END)
    held = pod.folder / "run" / "credentials"
    assert held.read_text() == "us%er:hun\\n:ter'\"$2" and held.stat().st_mode & 0o777 == 0o600
    arguments = (pod.folder / "arguments").read_text()
    assert f"proxy-authorization-file={held}" in arguments and "hun" not in arguments + "".join(printed)


@pytest.mark.parametrize(
    ("answer", "fault", "check", "ready", "words"),
    [
        (GOOD, "", 0, 0, "the hub answers through the HTTP proxy proxy:3128"),
        (AWAY.format(REFUSED), "", 1, 1, "is not the hub (SSL handshake failure error:0A000086:SSL routines::certificate verify failed)"),
        (AWAY.format("Connection timed out"), "", 2, 0, "does not answer in it (Connection timed out)"),
        (AWAY.format(" "), "2 it does not reach the hub", 2, 0, "it does not reach the hub"),
        (AWAY.format(" "), "1 it refuses", 1, 1, "it refuses"),
        ("", "", 2, 0, "no reason is known"),
        (AWAY.format("$(touch x) `id` ;&|"), "", 2, 0, "does not answer in it"),
    ],
)
def test_check_and_ready(answer, fault, check, ready, words, pod):
    (pod.folder / "answer").write_text(answer)
    if fault:
        (pod.folder / "run" / "fault").write_text(f"{fault}\n")
    for mode, wanted in (("check", check), ("ready", ready)):
        rc, said = pod.run(mode)
        assert rc == wanted and words in said and "`" not in said, said


def test_what_is_said_names_the_proxy_that_was_tried(pod):
    (pod.folder / "answer").write_text(AWAY.format(REFUSED))
    (pod.folder / "run" / "loaded.proxy").write_text("old:1")
    (pod.folder / "run" / "loaded.hub").write_text("hub:2")
    rc, said = pod.run("ready")
    assert rc == 1 and "HTTP proxy old:1 is not the hub" in said and "must except hub:2;" in said, said


def test_check_waits_for_new_files(pod):
    (pod.folder / "answer").write_text(GOOD)
    (pod.folder / "run" / "loaded.target").write_text("old\n")
    one = pod.start("check", "new", "m2")
    with pytest.raises(subprocess.TimeoutExpired):
        one.communicate(timeout=1)
    (pod.folder / "run" / "loaded.target").write_text("new\n")
    (pod.folder / "run" / "loaded.mark").write_text("m2")
    assert "answers" in one.communicate(timeout=30)[0] and one.returncode == 0
    assert pod.run("check", "", "") == pod.run("check") == (0, "the hub answers through the HTTP proxy proxy:3128")


def test_the_script_asks_the_sidecar_where_it_answers():
    assert f"TCP:127.0.0.1:{OPS_PORT}," in sidecar.TUNNEL_SCRIPT and f"*'{sidecar.WHY}: '*)" in sidecar.TUNNEL_SCRIPT


def test_only_the_tunnel_has_the_credentials(parsed_site):
    site = parsed_site(http_proxy={"address": "proxy:3128", "secret": "login"})
    sets = [one for one in supernode.objects(site) if one["kind"] == "StatefulSet"]
    body = sets[0]["spec"]["template"]["spec"]
    assert [one["name"] for one in body["initContainers"]] == ["sidecar", "tunnel"]
    having = {one["name"] for one in body["initContainers"] + body["containers"] for held in one["volumeMounts"] if held["name"] == "http-proxy"}
    assert having == {"tunnel"}
    without = parsed_site(http_proxy={"address": "proxy:3128"})
    assert "http-proxy" not in repr([one for one in supernode.objects(without) if one["kind"] == "StatefulSet"])


def test_addresses_do_not_restart_pods(parsed_site):
    def template(**changes):
        return next(one for one in supernode.objects(parsed_site(**changes)) if one["kind"] == "StatefulSet")

    assert template(http_proxy={"address": "proxy:3128"}) == template(http_proxy={"address": "[2001:db8::3]:80"}, superlink_address="[::1]:443")


@pytest.mark.parametrize(
    ("proxy", "hub", "target"),
    [
        ("proxy:3128", "hub.example.com:9092", "PROXY:proxy:hub.example.com:9092,proxyport=3128,"),
        ("[2001:db8::3]:80", "[2001:db8::1]:443", "PROXY:[2001:db8::3]:[2001:db8::1]:443,proxyport=80,"),
    ],
)
def test_the_address_of_the_tunnel(proxy, hub, target, parsed_site):
    made = sidecar.config_objects(parsed_site(http_proxy={"address": proxy}, superlink_address=hub))[-1]
    assert made["data"]["target"].startswith(target)
