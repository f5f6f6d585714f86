# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials that are not accepted when a command is started: they are renewed once."""

from __future__ import annotations

from typing import Any

import pytest
import websocket

from ansible_collections.federated.flower.plugins.plugin_utils.kube import client
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unauthorized
from ansible_collections.federated.flower.plugins.plugin_utils.kube.auth import Access


@pytest.mark.parametrize(("renewable", "renewals"), [(True, 1), (False, 0)])
def test_credentials_are_renewed_once(monkeypatch: pytest.MonkeyPatch, renewable: bool, renewals: int) -> None:
    access = Access("hub", "https://hub.example.com", renewable=renewable)
    renewed: list[Any] = []
    tried: list[str] = []

    def connect(_socket: Any, url: str, **_options: Any) -> None:
        tried.append(url)
        raise websocket.WebSocketBadStatusException("Handshake status 401 Unauthorized", 401)

    monkeypatch.setattr(websocket.WebSocket, "connect", connect)
    monkeypatch.setattr(client, "resolve", lambda auth: renewed.append(auth) or access)
    with client.Cluster(access) as cluster, pytest.raises(Unauthorized, match=r"does not accept the credentials .*\(401\)"):
        cluster.exec("flower", "superlink-0", "superlink", ["true"])
    assert len(renewed) == renewals and len(tried) == renewals + 1
