# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a Secret that no pod needs any more."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict
from ansible_collections.federated.flower.plugins.plugin_utils.reach import direct
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import KeysMade, Site
from ansible_collections.federated.flower.plugins.plugin_utils.reach.way import way_of


class Secrets:
    """A cluster in which someone has put another Secret in the place of one that was seen."""

    def __init__(self, uid: str) -> None:
        self.uid, self.deleted = uid, []

    def delete(self, _api: str, _kind: str, name: str, _namespace: str, *, uid: str) -> None:
        if uid != self.uid:
            raise Conflict("site-a", "DELETE", 409, {"message": "the UID in the precondition differs"})
        self.deleted.append(name)


@pytest.mark.parametrize(("uid", "gone"), [("1", ["supernode-http-proxy"]), ("2", [])])
def test_only_the_secret_that_was_seen_is_deleted(monkeypatch, parsed_site, uid, gone):
    site = Site("site-a", parsed_site(), way_of({}))
    noted: list[dict[str, str]] = []
    run = SimpleNamespace(check=False, rendering=False, note=lambda _site, objects: noted.extend(objects))
    way = direct.Way(run, site)
    way._cluster = Secrets(uid)
    way._obsolete = KeysMade(obsolete={"supernode-http-proxy": "1"}).obsolete
    monkeypatch.setattr(way, "_apply", lambda *_args, **_more: direct.Done())
    done = way.apply([], lambda: None)
    assert way._cluster.deleted == gone and len(noted) == len(gone) and done.changed is bool(gone)
