# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A federation that an earlier release deployed is taken over: no pod restarts, nothing changes but what is listed here."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

#: The release that deploys, as a commit: the last one before ownership was recorded.
RELEASE = "577cac1"

#: What a user of the collection needs of it.
PARTS = ("galaxy.yml", "meta", "playbooks", "plugins", "roles")

WORKLOADS = (("hub", "superlink"), ("hub", "serverapp"), ("site-a", "supernode"), ("site-b", "supernode"))

#: What taking over may change, as «Kind name»: what a fix needs, never a pod's template.
MENDS: set[str] = {"ConfigMap superlink-clients"}  # the hub's identity as an annotation, which survives the loss of the ledger


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Folder for ANSIBLE_COLLECTIONS_PATH that holds the collection as it was released."""
    checkout = os.environ.get("FLOWER_CHECKOUT", "")
    if not checkout:
        pytest.fail("FLOWER_CHECKOUT is not set: run `make integration`")
    git = ["git", "-c", f"safe.directory={checkout}", "-C", checkout]
    if subprocess.run([*git, "cat-file", "-e", RELEASE], capture_output=True, check=False).returncode:
        pytest.skip(f"{checkout} has no git history that reaches back to {RELEASE}")
    archive = subprocess.run([*git, "archive", RELEASE, *PARTS], capture_output=True, check=True).stdout
    folder = tmp_path / "ansible_collections" / "federated" / "flower"
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return tmp_path


def lives(fed) -> dict[tuple[str, str], dict[str, tuple[str, int]]]:
    """Pods and restarts of all workloads."""
    return {place: fed.lives(place[0], name=place[1]) for place in WORKLOADS}


def test_a_federation_of_an_earlier_release_is_taken_over(federation, release):
    federation.clear()  # the scenarios of this lane may have started
    run = federation.play("site", collections=release)
    assert "3 SuperNodes of 2 sites are online" in run.messages()
    before = lives(federation)
    ids = {site: federation.keys(site) for site in ("site-a", "site-b")}

    run = federation.site()
    changed = {
        f"{one['kind']} {one['name']}"
        for result in run.results
        for one in result["result"].get("objects") or []
        if one["change"] != "unchanged"
    }
    assert changed <= MENDS, f"the takeover changed more than it must: {sorted(changed - MENDS)}, see {run.log}"
    assert lives(federation) == before, "pods were replaced or restarted"
    assert {site: federation.keys(site) for site in ids} == ids
    federation.unchanged()
