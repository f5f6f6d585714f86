# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists that come in pages, from an API server that forgets where the second page begins."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ApiError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster


class Forgetful(Cluster):
    """Answers as an API server does whose store was compacted between two pages, some times."""

    def __init__(self, times):
        self.times = times
        self.asked = []

    def request(self, method, path, *, query=None, body=None, content_type="", **_more):
        """The first page, then 410, and after that the second page."""
        self.asked.append(query.get("continue", ""))
        if not query.get("continue"):
            return {"metadata": {"continue": "next"}, "items": [{"metadata": {"name": "a"}}]}
        if self.times:
            self.times -= 1
            raise ApiError(
                "hub",
                f"{method} {path}",
                410,
                {"reason": "Expired", "message": "The provided continue parameter is too old"},
            )
        return {"metadata": {}, "items": [{"metadata": {"name": "b"}}]}


def test_a_list_begins_again():
    cluster = Forgetful(1)
    assert [one["metadata"]["name"] for one in cluster.list("v1", "ConfigMap", "flower")] == ["a", "b"]
    assert cluster.asked == ["", "next", "", "next"]


def test_but_not_for_ever():
    with pytest.raises(ApiError, match="too old"):
        Forgetful(99).list("v1", "ConfigMap", "flower")
