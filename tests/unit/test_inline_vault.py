# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that C(ansible-vault encrypt_string) made: they are text wherever a variable is read, and in no message."""

from __future__ import annotations

from collections import UserString
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_variables import Defaults, HostVariables
from ansible_collections.federated.flower.plugins.plugin_utils.base import plain_data as module
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import (
    read_vaulted,
    to_json_data,
    without_vaulted,
)
from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written
from ansible_collections.federated.flower.tests.unit.rows import each_row

SECRET = "tok-abc-of-the-vault"


class Encrypted(UserString):
    """Like that of every ansible-core: an object with the methods of text that is none."""


@each_row(
    ("given", "read"),
    [
        (Encrypted("ab"), "ab"),
        ({"a": Encrypted("ab")}, {"a": "ab"}),
        ([Encrypted("ab"), {"b": [Encrypted("c")]}], ["ab", {"b": ["c"]}]),
        ((Encrypted(""), Encrypted("1")), ["", "1"]),
        ({"a": {"b": {"c": Encrypted("d\ne")}}}, {"a": {"b": {"c": "d\ne"}}}),
    ],
)
def test_a_value_is_its_text_at_any_depth(given: Any, read: Any) -> None:
    assert to_json_data(given) == read
    assert HostVariables({"x": given}, lambda value: value, Defaults({}))["x"] == read


def test_a_value_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VAULTED", set())
    read_vaulted({"a": [Encrypted(SECRET)], "b": Encrypted("no"), "c": "other"})
    found = without_vaulted({"msg": f"'{SECRET}' is not a number", "sites": [{"msg": SECRET}], "changed": False, "n": 1})
    assert found == {"msg": "'(a value of the vault)' is not a number", "sites": [{"msg": "(a value of the vault)"}], "changed": False, "n": 1}
    assert without_vaulted("nobody") == "nobody", "a short value is part of many words"


class Vault(str):
    """Text that is written to YAML as an encrypted value."""


@pytest.mark.playbook
def test_playbooks_read_them(tmp_path: Path) -> None:
    vault = VaultLib()
    cipher = vault.encrypt(SECRET, secret=VaultSecret(b"password")).decode()
    yaml.SafeDumper.add_representer(Vault, lambda dumper, _value: dumper.represent_scalar("!vault", cipher, style="|"))
    (tmp_path / "password").write_text("password")
    secret = Vault()
    with api_server() as (address, seen):

        def kubeconfig(context: str) -> dict[str, Any]:
            return {
                "current-context": context,
                "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
                "clusters": [{"name": context, "cluster": {"server": f"{address}/{context}"}}],
                "users": [{"name": context, "user": {"token": secret}}],
            }

        sites = {
            "in-a-list": {"flower_kubeconfig": kubeconfig("in-a-list"), "supernode_env": [{"name": "HF_TOKEN", "value": secret}]},
            "by-name": {"flower_auth": {"host": f"{address}/by-name", "api_key": "{{ vault_token }}"}, "vault_token": secret},
            "wrong-scalar": {"supernode_http_proxy": secret},
            "wrong-deep": {"supernode_pod_annotations": {"a": [secret]}, "supernode_wait_timeout": "{{ vault_token }}", "vault_token": secret},
        }
        hub = {"flower_auth": {"host": f"{address}/hub", "api_key": secret}, "superlink_address": "hub.example.com:9092"}
        fleet = written(tmp_path, inventory(hub, sites))
        done = play(fleet, "status", "--vault-password-file", str(tmp_path / "password"))
    assert {one["Authorization"] for one in seen} == {f"Bearer {SECRET}"}
    assert {one["path"].split("/")[1] for one in seen} == {"hub", "in-a-list", "by-name"}
    assert done.returncode == 0, done.stdout
    assert SECRET not in done.stdout and "', '".join(SECRET[:5]) not in done.stdout
    for site, variable in (("wrong-scalar", "supernode_http_proxy"), ("wrong-deep", "supernode_wait_timeout")):
        assert f"! {site}: " in done.stdout and variable in done.stdout
    assert "(a value of the vault)" in " ".join(done.stdout.split())
