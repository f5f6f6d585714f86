# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two ways in which the proxy of a link ends Skupper's controller, which may serve others (2.2.1, internal/kube/site/site.go, internal/site/link.go)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import skupper
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import links
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given
from ansible_collections.federated.flower.tests.unit.rows import each_row


def test_a_link_that_gets_a_proxy_is_recreated(parsed_link):
    plain, through = given.link(), given.link("flower-hub-through")
    through["spec"]["settings"] = {"proxy-configuration": "site-proxy"}
    own = links.Site(given.site(), [plain, through, given.link("theirs", ours=False)])
    assert links.outlived(parsed_link(proxy_secret="another-proxy"), own) == [plain], "Skupper reads the Secret where one proxy follows another"
    assert links.outlived(parsed_link(), own) == []


@each_row(
    ("secret", "words"),
    [
        (None, "Secret flower/site-proxy, the proxy of the link .skupper_link_proxy_secret., does not exist"),
        (given.secret("site-proxy", {"host": "proxy.example.com"}), "has no port"),
        (given.secret("site-proxy", {"host": "proxy.example.com", "port": "3128"}), ""),
        (Forbidden("site-a", "GET", 403, {}), ""),
    ],
)
def test_the_secret_of_the_proxy_is_there_before_a_link_names_it(secret, words, parsed_link):
    def get(_version: str, _kind: str, _name: str, _namespace: str) -> Any:
        if isinstance(secret, Exception):
            raise secret
        return secret

    action: Any = object.__new__(skupper.ActionModule)
    cluster: Any = SimpleNamespace(get=get)
    spec = parsed_link(proxy_secret="site-proxy")
    if words:
        with pytest.raises(ClusterError, match=words):
            action.require_proxy(cluster, spec)
    else:
        action.require_proxy(cluster, spec)
    action.require_proxy(cluster, parsed_link())
