# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials for the tracking server: in a Secret, and in no message."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.hub import secret_plan


def test_they_become_a_secret(parsed_hub):
    spec = parsed_hub(tracking={"uri": "https://x"}, tracking_credentials=["password", "username"])
    (found,) = secret_plan.tracking_secrets(spec, {"username": "jane", "password": "hunter2", "token": ""})
    assert (found["metadata"]["namespace"], found["metadata"]["name"]) == ("flower", "superlink-tracking")
    assert entries(found) == {"username": "jane", "password": "hunter2"}


def test_without_a_server_or_credentials_there_is_none(parsed_hub):
    assert secret_plan.tracking_secrets(parsed_hub(), {}) == []
    assert secret_plan.tracking_secrets(parsed_hub(tracking={"uri": "https://x"}), {}) == []


@pytest.mark.parametrize("value", ["", "hünter2", "hunter2\n"])
def test_what_no_header_takes(parsed_hub, value):
    spec = parsed_hub(tracking={"uri": "https://x"}, tracking_credentials=["token"])
    with pytest.raises(ClusterError, match="superlink_tracking_credentials: token") as raised:
        secret_plan.tracking_secrets(spec, {"token": value})
    assert "nter2" not in raised.value.message


def test_a_change_is_noticed():
    one = {"kind": "Secret", "name": "superlink-tracking", "change": "changed"}
    assert secret_plan.is_tracking_changed([{**one, "name": "x"}, one])
    assert not secret_plan.is_tracking_changed([{**one, "change": "created"}])
