# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end: everything goes, and in all that was printed on the way there was not one secret."""

from __future__ import annotations

import pytest


def test_check_mode_of_teardown(fed):
    lives = {context: fed.lives(context) for context in ("site-a", "site-b")}
    run = fed.play("teardown", "--check", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    assert all(run.changed.values()), run.changed
    assert {context: fed.lives(context) for context in lives} == lives
    assert sorted(status for status in fed.nodes().values() if status != "unregistered") == ["online"] * 3


def test_teardown_keeps_the_volume_unless_told(fed):
    fed.play("teardown", "--limit", "hub", "-e", "flower_teardown=true")
    assert len(fed.hub.list("v1", "PersistentVolumeClaim", fed.namespace)) == 1
    assert fed.pods("hub", name="superlink") == {}
    assert fed.hub.get("v1", "Secret", "flower-ca", "scenario-ca"), "the CA is gone"
    nodes = {site: fed.keys(site) for site in ("site-a", "site-b")}
    assert all(nodes.values()), "the ledger is gone"
    fed.site()
    assert {site: fed.keys(site) for site in nodes} == nodes
    assert {fed.nodes()[node] for site in nodes.values() for node in site.values()} == {"online"}


def test_teardown(fed):
    fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    for context in fed.contexts:
        assert fed.gone(context, "scenario", "scenario-ca"), f"something is left on {context}"
    run = fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true")
    assert set(run.changed.values()) == {0}


def test_no_secret_was_ever_shown(federation):
    if not federation.secrets:
        pytest.fail("no scenario has run before this one: there are no secrets to look for")
    shown = {}
    folders = (federation.logs, federation.home, federation.tmp)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        shown.update({place: path.name for secret, place in federation.secrets.items() if secret in text})
        if "PRIVATE KEY-----" in text:
            shown["a private key"] = path.name
    assert not shown, f"secrets that were shown, and where: {shown}"
    assert len(files) > 1


def test_nothing_was_left_in_the_folder_for_temporary_files(federation):
    assert not federation.left_behind
