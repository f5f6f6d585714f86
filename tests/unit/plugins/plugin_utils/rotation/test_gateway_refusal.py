# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A gateway that does not take its files is a fault, although it still serves what it loaded before."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.streams import ExecResult
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.gateway_certificates import Gateway

# What HAProxy 2.6 of Debian 12 prints for a certificate on one line.
ALERT = b"""[NOTICE]   (12) : haproxy version is 2.6.12-1+deb12u4
[ALERT]    (12) : config : parsing [/etc/gw/haproxy.cfg:20] : 'bind :9092' in section 'frontend' : unable to load certificate from file '/certs/tls.pem'.
[ALERT]    (12) : config : Fatal errors found in configuration.
"""


class Hub:
    """A hub whose gateway says something."""

    name = "hub"

    def __init__(self, result: ExecResult) -> None:
        self.result = result
        self.asked: list[Any] = []

    def exec(self, *where: Any, **_more: Any) -> ExecResult:
        self.asked.append(where)
        return self.result


def test_files_that_are_taken() -> None:
    hub = Hub(ExecResult(b"Configuration file is valid\n", b"", 0))
    gateway: Any = Gateway
    assert gateway(hub, "flower").refusal() == ""
    assert hub.asked == [("flower", "superlink-0", "gateway", ["haproxy", "-c", "-f", "/etc/gw/haproxy.cfg"])]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ExecResult(b"", ALERT, 1), "unable to load certificate from file '/certs/tls.pem'. [ALERT]"),
        (ExecResult(b"", b"", 137), "HAProxy: code 137"),
        (ExecResult(b"\xff" * 5000, b"", 1), "HAProxy: "),
    ],
)
def test_files_that_are_refused(result: ExecResult, words: str) -> None:
    gateway: Any = Gateway
    found = gateway(Hub(result), "flower").refusal()
    assert found.startswith("the gateway on hub does not take its files") and words in found
    assert "\n" not in found and len(found) < 1100 and "superlink_patches" in found
