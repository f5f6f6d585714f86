# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets are taken out of texts whole, whatever else a cluster has in its Secrets."""

from __future__ import annotations

import base64
import json
import time

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.support_archive import (
    Redaction,
    hidden,
    secret_texts,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row


def stored(*values: str) -> set[str]:
    return secret_texts([{"data": {str(number): base64.b64encode(value.encode()).decode() for number, value in enumerate(values)}}])


@each_row(
    ("values", "text", "shown", "masked"),
    [
        (["hunter22"], "a hunter22, hunter22", "a (secret), (secret)", 2),
        (["hunter22"], "hunter2", "hunter2", 0),
        (["first-line\nsecond-line"], "x first-line\nsecond-line y", "x (secret)\n(secret) y", 2),
        (["hunter22", "hunter22-and-more"], "hunter22-and-more", "(secret)", 1),
        (["to-be-hunter22", "hunter22-and-more"], "x to-be-hunter22-and-more y", "x (secret) y", 1),
        ([base64.b64encode(b"hunter22").decode()], "aHVudGVyMjI= here", "(secret) here", 1),
        (["short"], "short", "short", 0),
        ([], "a eyJhbGciOiJI.eyJzdWIiOiIx.c2ln b", "a (secret) b", 1),
        ([], "a token-eyJhbGciOiJI.eyJzdWIiOiIx. b", "a (secret) b", 1),
        ([], "x.eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "x.(secret)", 1),
        ([], "keyJhbGciOiJI.eyJzdWIiOiIx.eyJ", "keyJhbGciOiJI.eyJzdWIiOiIx.eyJ", 0),
        (["-----BEGIN CERTIFICATE-----\npubliclines\n-----END CERTIFICATE-----\nhunter22"], "publiclines hunter22", "publiclines (secret)", 1),
    ],
)
def test_secrets_are_masked_whole(values: list[str], text: str, shown: str, masked: int) -> None:
    redaction = Redaction(stored(*values))
    assert (redaction.text(text), redaction.masked) == (shown, masked)


def test_the_content_of_a_kubeconfig_is_secret_and_its_path_is_not() -> None:
    content = {"users": [{"name": "admin", "user": {"client-key-data": "LS0tLS1CRUdJTg=="}}]}
    assert hidden(content, "flower_kubeconfig") == hidden(content, "superlink_kubeconfig") == "(secret)"
    assert hidden({"kubeconfig": content, "context": "a"}, "flower_auth") == {"kubeconfig": "(secret)", "context": "a"}
    assert hidden("users: [{name: a,\n user: {token: b}}]", "flower_kubeconfig") == hidden('{"users": []}', "flower_kubeconfig") == "(secret)"
    assert hidden("~/.kube/config", "flower_kubeconfig") == "~/.kube/config"
    assert "LS0" not in str(hidden({"site": {"user": {"client-key-data": "LS0tLS1CRUdJTg=="}}}, "flower_access"))


def test_quotes_and_keys_of_mappings() -> None:
    found = Redaction(stored('a "quoted" one')).json({"a": 'x a "quoted" one'})
    assert json.loads(found) == {"a": "x (secret)"}
    assert "hunter22" not in Redaction(stored("hunter22")).json({"hunter22": 1})


def test_secrets_without_number_take_no_time() -> None:
    """A site may have as many as its Secrets hold, all of them alike and of any length, and may print what it likes."""
    many = {f"{number:06d}" for number in range(100_000)}
    alike = {"a" * length for length in range(6, 1000)}
    begun = time.process_time()
    text = Redaction(many | alike | {"hunter22"}).text("x hunter22\n" + "b" * 300_000 + "\n" + "a" * 300_000 + " tail\nend")
    assert time.process_time() - begun < 20
    assert text == "x (secret)\n" + "b" * 300_000 + "\n(secret)\nend"


LARGE = 1 << 18  # characters; a Secret or a ConfigMap can have four times as many


@each_row(
    ("text", "secrets"),
    [
        ("-----BEGIN CERTIFICATE-----" * (LARGE // 27), []),
        ("eyJ-" * (LARGE // 4), []),
        ("eyJabcdefgh." * (LARGE // 12) + "eyJ", []),
        ("-----BEGIN PRIVATE KEY-----" * (LARGE // 27), []),
        ("a" * LARGE + "b", ["a" * (LARGE - length) for length in range(10)]),
    ],
)
def test_a_large_text_is_read_once(text: str, secrets: list[str]) -> None:
    """Whoever writes in a namespace chooses it. Nothing else of the playbook runs while a pattern searches."""
    begun = time.process_time()
    Redaction({*stored(text), *secrets}).text(text)
    Redaction(secrets).text(text)
    assert time.process_time() - begun < 5
