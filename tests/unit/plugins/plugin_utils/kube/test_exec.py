# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stream of a command: what arrives when, and a connection on which nothing arrives."""

from __future__ import annotations

from typing import Any

import pytest
import websocket

from ansible_collections.federated.flower.plugins.plugin_utils.kube import streams as stream
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ExecBroken, Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.kube.streams import Exec
from ansible_collections.federated.flower.tests.unit.passing_time import Time

END = (3, b'{"status": "Success"}')


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(stream, "time", made)
    return made


class Channel:
    """Gives frames, and then nothing."""

    def __init__(self, *frames: tuple[int, bytes]) -> None:
        self.frames = list(frames)
        self.timeouts: list[float] = []

    def settimeout(self, seconds: float) -> None:
        self.timeouts.append(seconds)

    def recv_data(self, control_frame: bool) -> tuple[int, bytes]:
        assert control_frame
        if not self.frames:
            raise websocket.WebSocketTimeoutException("timed out")
        number, data = self.frames.pop(0)
        return websocket.ABNF.OPCODE_BINARY, bytes([number]) + data


def run(channel: Channel, on_stdout: Any = None, silence: float | None = None, timeout: float = 60) -> Any:
    return Exec(channel, "hub", "exec python", timeout, timeout, silence).run(None, on_stdout)


def test_output_is_kept_unless_it_is_received() -> None:
    result = run(Channel((1, b"a"), (2, b"e"), (1, b"b"), END))
    assert (result.stdout, result.stderr, result.rc) == (b"ab", b"e", 0)
    seen: list[bytes] = []
    result = run(Channel((1, b"a"), (2, b"e"), (1, b"b"), END), seen.append)
    assert (result.stdout, result.stderr, seen) == (b"", b"e", [b"a", b"b"])


def test_a_silent_connection_is_lost() -> None:
    channel = Channel((1, b"a"))
    with pytest.raises(Unreachable, match=r"hub: exec python: nothing was received for 5 s"):
        run(channel, silence=5)
    assert channel.timeouts == [5, 5]


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"silence": 0.3}, "nothing was received for 0.3 s"), ({"timeout": 0.3}, "not finished after")],
)
def test_pings_of_a_proxy_are_no_news(clock: Time, limits: dict[str, float], words: str) -> None:
    class Pinging(Channel):
        def recv_data(self, control_frame: bool) -> tuple[int, bytes]:
            clock.sleep(0.02)
            return websocket.ABNF.OPCODE_PING, b"\x01still here"

    seen: list[bytes] = []
    with pytest.raises(Unreachable, match=words):
        run(Pinging(), seen.append, **limits)
    assert seen == []


def test_the_end_of_the_time_is_no_silence() -> None:
    with pytest.raises(Unreachable, match="not finished after 2 s"):
        run(Channel(), silence=5, timeout=2)
    with pytest.raises(Unreachable, match="not finished after 2 s"):
        run(Channel(), timeout=2)


def test_an_error_of_the_runtime_is_no_refusal() -> None:
    """The command may have run: it is told apart from what the API server refuses."""
    with pytest.raises(ExecBroken, match="hub: exec python: container runtime is down"):
        run(Channel((3, b'{"status": "Failure", "message": "container runtime is down"}')))
