# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the Secret for an HTTP proxy is written, kept, deleted and refused."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import sidecar, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.sites import key_sources

GIVEN = {"username": "site-a", "password": "hunter2"}
PROXY = {"address": "proxy.example.com:3128"}


def live(made, manager="federated.flower"):
    """A Secret as the API server has it."""
    return {**made, "metadata": {**made["metadata"], "uid": "1", "managedFields": [{"manager": manager}]}}


def test_written_once_and_again_when_the_password_changes(parsed_site):
    site = parsed_site(http_proxy=PROXY, http_proxy_credentials=GIVEN)
    values = key_sources.proxy_credentials(site, GIVEN)
    (made,), gone = key_sources.proxy_secret(site, values, None)
    mark = entries(made)["mark"]
    assert (entries(made), gone, made["metadata"]["name"]) == ({**GIVEN, "mark": mark}, {}, sidecar.SECRET)
    assert key_sources.proxy_secret(site, values, made) == ([], {})
    (again,), _gone = key_sources.proxy_secret(site, {**values, "password": "other"}, made)
    assert entries(again)["password"] == "other" and entries(again)["mark"] != mark
    without = parsed_site(http_proxy=PROXY)
    assert key_sources.proxy_secret(without, key_sources.proxy_credentials(without, {}), live(made)) == ([], {sidecar.SECRET: "1"})
    assert key_sources.proxy_secret(without, {}, None) == ([], {})


def test_a_secret_that_the_user_names_is_not_deleted_though_it_was_made_here(parsed_site):
    """Someone took the credentials out of the variables, and has the pods go on with the Secret that has them."""
    (made,), _gone = key_sources.proxy_secret(parsed_site(http_proxy=PROXY, http_proxy_credentials=GIVEN), GIVEN, None)
    named = parsed_site(http_proxy={**PROXY, "secret": sidecar.SECRET})
    assert key_sources.proxy_secret(named, {}, live(made)) == ([], {})
    other = parsed_site(http_proxy={**PROXY, "secret": "other"})
    assert key_sources.proxy_secret(other, {}, live(made)) == ([], {sidecar.SECRET: "1"})


def test_the_secret_of_another_federation_is_left_alone(parsed_site):
    other = parsed_site(federation="other", http_proxy=PROXY, http_proxy_credentials=GIVEN)
    (made,), _gone = key_sources.proxy_secret(other, GIVEN, None)
    assert key_sources.proxy_secret(parsed_site(http_proxy=PROXY), {}, live(made)) == ([], {})
    with pytest.raises(ClusterError, match="belongs to the federation other: it is not changed"):
        key_sources.proxy_secret(parsed_site(http_proxy=PROXY, http_proxy_credentials=GIVEN), GIVEN, live(made))


def test_a_copy_that_someone_else_made_is_not_deleted(parsed_site):
    (made,), _gone = key_sources.proxy_secret(parsed_site(http_proxy=PROXY, http_proxy_credentials=GIVEN), GIVEN, None)
    assert key_sources.proxy_secret(parsed_site(), {}, live(made, manager="kubectl-create")) == ([], {})


def test_no_object_has_the_password(parsed_site):
    site = parsed_site(http_proxy=PROXY, http_proxy_credentials=GIVEN)
    assert site.http_proxy_credentials == ["username", "password"]
    assert "hunter2" not in repr(site)
    assert "hunter2" not in repr(supernode.objects(site))
