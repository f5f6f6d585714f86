# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP proxy in the environment is for what apps download: Flower's own connections in a cluster go past it."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.pod import past_proxy
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row

PROXY = {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"}
# The inventory of examples has it.
EXAMPLE = {"name": "NO_PROXY", "value": "localhost,127.0.0.1,.svc,.cluster.local"}


def past(objects, *names):
    """Container -> what goes past the proxy."""
    pods = [one["spec"]["template"]["spec"] for one in objects if one["kind"] in ("StatefulSet", "Deployment")]
    found = {one["name"]: one.get("env", []) for pod in pods for one in pod["containers"]}
    return {name: [entry["value"] for entry in found[name] if entry["name"] == "NO_PROXY"] for name in names}


def test_the_server_app_calls_the_gateway_and_the_command_line_the_superlink(parsed_hub):
    def hub(*env):
        return past(superlink.objects(parsed_hub(env=list(env), serverapp_env=list(env))), "superlink", "superexec")

    assert hub() == {"superlink": [], "superexec": []}
    assert hub(PROXY) == {"superlink": ["localhost"], "superexec": ["superlink-runtime"]}
    assert hub(PROXY, EXAMPLE) == {"superlink": [EXAMPLE["value"]], "superexec": [f"{EXAMPLE['value']},superlink-runtime"]}


def test_server_apps_that_superlink_starts_do_as_well(parsed_hub):
    objects = superlink.objects(parsed_hub(isolation="subprocess", env=[PROXY]))
    assert past(objects, "superlink") == {"superlink": ["localhost,127.0.0.1"]}


def test_a_supernode_calls_its_sidecar(parsed_site):
    # Its SuperExec calls it without TLS, where HTTPS_PROXY has no meaning.
    objects = specs.supernode_objects(parsed_site(env=[PROXY]))
    assert past(objects, "supernode", "superexec") == {"supernode": ["localhost"], "superexec": []}
    objects = specs.supernode_objects(parsed_site(env=[{**PROXY, "name": "http_proxy"}]))
    assert past(objects, "supernode", "superexec") == {"supernode": [], "superexec": ["127.0.0.1"]}
    objects = specs.supernode_objects(parsed_site(env=[PROXY], sidecar=False, mtls=False))
    assert past(objects, "supernode") == {"supernode": []}


@each_row(
    ("given", "after"),
    [
        ([], []),
        ([{"name": "HTTPS_PROXY", "value": ""}], [{"name": "HTTPS_PROXY", "value": ""}]),
        ([PROXY, {"name": "no_proxy", "value": ".x"}], [PROXY, {"name": "no_proxy", "value": ".x,a.b.svc"}]),
        ([PROXY, {"name": "NO_PROXY", "value": ""}], [PROXY, {"name": "NO_PROXY", "value": "a.b.svc"}]),
        *[
            ([PROXY, one], [PROXY, one])
            for one in (
                {"name": "NO_PROXY", "value": "*"},
                {"name": "NO_PROXY", "value": "x, .svc"},
                {"name": "NO_PROXY", "value": "a.b.svc"},
                {"name": "NO_PROXY", "valueFrom": {"configMapKeyRef": {"name": "proxy", "key": "no"}}},
            )
        ],
        ([{"name": "ALL_PROXY", "value": "x"}], [{"name": "ALL_PROXY", "value": "x"}, {"name": "NO_PROXY", "value": "a.b.svc"}]),
    ],
)
def test_hosts_are_added_where_they_lack(given, after):
    assert past_proxy(given, "https://a.b.svc") == after
