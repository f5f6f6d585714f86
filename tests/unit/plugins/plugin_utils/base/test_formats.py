# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What looks like a secret, and what only sounds like one."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import formats
from ansible_collections.federated.flower.tests.unit.rows import each_row

NOW = datetime.datetime(2026, 11, 22, 14, tzinfo=datetime.timezone.utc)


@each_row(
    ("name", "value"),
    [("HF_TOKEN", "hf_1"), ("DB_PASSWORD", "12345"), ("api-key", "k"), ("API_TOKENS", "a,b"), ("HTTPS_PROXY", "http://me:pw@proxy:3128")],
)
def test_secrets(name: str, value: str) -> None:
    assert formats.is_secret(name, value)


@each_row(
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
    assert not formats.is_secret(name, value)


def test_objects_show_them_by_name_alone() -> None:
    env = [{"name": "HF_TOKEN", "value": "s3cr3t"}, {"name": "API_KEY", "valueFrom": {"secretKeyRef": {}}}, {"name": "LEVEL", "value": "1"}]
    pod = {"containers": [{"name": "supernode", "env": env}], "initContainers": [{"name": "load"}]}
    item: dict[str, Any] = {"kind": "StatefulSet", "metadata": {"name": "supernode-cpu"}, "spec": {"template": {"spec": pod}}}
    template = {"kind": "AddOnTemplate", "metadata": {"name": "t"}, "spec": {"agentSpec": {"workload": {"manifests": [item]}}}}
    words = "StatefulSet supernode-cpu, container supernode: the value of HF_TOKEN looks like a secret"
    assert formats.shown_value([item]) == formats.shown_value([template]) == [words]
    assert formats.shown_value([{"kind": "Service", "metadata": {"name": "x"}, "spec": {}}]) == []


@each_row(
    "text, wanted",
    [("90m", "2026-11-22T12:30"), ("2d", "2026-11-20T14:00"), (" 1w ", "2026-11-15T14:00"), ("0s", "2026-11-22T14:00")],
)
def test_before(text: str, wanted: str) -> None:
    assert formats.before(NOW, text).isoformat(timespec="minutes") == f"{wanted}+00:00"


@each_row("text", ["", "2", "2026", "d", "2x", "1d2h", "999999w", "-1d"])
def test_what_is_no_duration_before_now(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is not a duration like 12h, 30d or 8w"):
        formats.before(NOW, text)


@each_row(
    "value, wanted",
    [
        ("2026-11-22T14:00:00Z", NOW),
        ("2026-11-22T15:00:00+01:00", NOW),
        ("2026-11-22 14:00:00", NOW),
        ("2026-11-22", NOW.replace(hour=0)),
        *((value, None) for value in ("", None, "soon", "12h", 7)),
    ],
)
def test_moment(value: object, wanted: datetime.datetime | None) -> None:
    assert formats.moment(value) == wanted
