# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What looks like a secret, and what only sounds like one."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import secret_names


@pytest.mark.parametrize(
    ("name", "value"),
    [("HF_TOKEN", "hf_1"), ("DB_PASSWORD", "12345"), ("api-key", "k"), ("API_TOKENS", "a,b"), ("HTTPS_PROXY", "http://me:pw@proxy:3128")],
)
def test_secrets(name: str, value: str) -> None:
    assert secret_names.is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false"),
        ("tokenizer", "bert-base"),
        ("max-tokens", "512"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/secrets/token"),
        ("HTTPS_PROXY", "http://proxy:3128"),
    ],
)
def test_what_is_none(name: str, value: str) -> None:
    assert not secret_names.is_secret(name, value)


def test_objects_show_them_by_name_alone() -> None:
    env = [{"name": "HF_TOKEN", "value": "s3cr3t"}, {"name": "API_KEY", "valueFrom": {"secretKeyRef": {}}}, {"name": "LEVEL", "value": "1"}]
    pod = {"containers": [{"name": "supernode", "env": env}], "initContainers": [{"name": "load"}]}
    item: dict[str, Any] = {"kind": "StatefulSet", "metadata": {"name": "supernode-cpu"}, "spec": {"template": {"spec": pod}}}
    template = {"kind": "AddOnTemplate", "metadata": {"name": "t"}, "spec": {"agentSpec": {"workload": {"manifests": [item]}}}}
    words = "StatefulSet supernode-cpu, container supernode: the value of HF_TOKEN looks like a secret"
    assert secret_names.shown([item]) == secret_names.shown([template]) == [words]
    assert secret_names.shown([{"kind": "Service", "metadata": {"name": "x"}, "spec": {}}]) == []
