# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook connect: what it writes into the user's home, and shows."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written

RIGHTS = {"status": {"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}
YAML = "[defaults]\ncallback_result_format = yaml\n"


@pytest.mark.playbook
def test_a_connection_is_planned_written_and_removed(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(certificates.make_ca("internal", datetime.timedelta(30)).certificate)
    config = tmp_path / ".flwr/config.toml"
    with api_server({"/selfsubjectrulesreviews": RIGHTS}) as (address, seen):
        fleet = written(tmp_path, inventory({"flower_auth": {"host": address, "api_key": "s3cr3t"}}, {}))
        options = ("-e", "flower_connect_ca=ca.pem flower_connect_port=8001")
        planned = play(fleet, "connect", *options, "--check", "--diff")
        assert planned.returncode == 0 and "+address = localhost:8001" in planned.stdout, planned.stdout
        assert not config.exists()
        done = play(fleet, "connect", *options, config=YAML)
        assert done.returncode == 0 and 'address = "localhost:8001"' in config.read_text(), done.stdout
        assert "\n        keep this running: kubectl -n flower port-forward pod/superlink-0 8001:8000\n" in done.stdout, done.stdout
        assert "flwr run APP hub --stream" in done.stdout and "s3cr3t" not in done.stdout + planned.stdout
        asked = len(seen)
        refused = play(fleet, "connect", "-e", "flower_connect_port=http")
        assert refused.returncode == 2 and "hub: flower_connect_port: http is not a port (1 to 65535)" in refused.stdout, refused.stdout
        gone = play(fleet, "connect", "-e", "flower_connect_state=absent")
    assert gone.returncode == 0 and "removed connection hub" in gone.stdout and not config.exists() and len(seen) == asked, gone.stdout
