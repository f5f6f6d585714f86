# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import messages
from ansible_collections.federated.flower.plugins.plugin_utils.checks import skupper_rules as rules
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.skupper_requirements import version_fault
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import supernode_faults


def site(given):
    return messages(rules.site_problems(given))


def link(given):
    return messages(rules.link_problems(given))


def listener(given):
    return messages(rules.listener_problems(given))


ROOT = Path(__file__).resolve().parents[5]


def test_defaults_are_right(site_spec, link_spec, listener_spec):
    assert (
        site(site_spec()) == link(link_spec()) == listener(listener_spec()) == []
    )
    assert site(site_spec(install="manifests")) == site(site_spec(install="operator")) == []


@each_row(
    ("host", "said"),
    [
        ("Flower_Superlink", "is not a DNS-1123 label"),
        ("a.b", "is not a DNS-1123 label"),
        ("-a", "is not a DNS-1123 label"),
        ("", "is not a DNS-1123 label"),
        ("a" * 64, "has 64 characters, at most 63"),
        ("192.0.2.1", "is an address"),
    ],
)
def test_host_of_a_listener(host, said, listener_spec):
    (fault,) = listener(listener_spec(host=host))
    assert fault.startswith(f"site-a: skupper_listener_host: {host!r}") and said in fault


@each_row("port", [0, 65536, -1, "no", 1.5, None, "", True])
def test_port_of_a_listener(port, listener_spec):
    (fault,) = listener(listener_spec(port=port))
    assert "skupper_listener_port" in fault
    assert listener(listener_spec(host="a" * 63, port=65535)) == []


def test_routing_key(listener_spec):
    assert listener(listener_spec(routing_key="a b"))
    assert listener(listener_spec(routing_key="a" * 254))
    assert listener(listener_spec(routing_key="fleet-api")) == []


def test_link(link_spec):
    assert "at most 40" in link(link_spec(name="a" * 41))[0]
    assert "is not between 30 and 86400 seconds" in link(link_spec(window="2d"))[0]
    assert "is not a duration like" in link(link_spec(renew_before="soon"))[0]
    assert (
        "is below" in link(link_spec(cost=-1))[0] or "between" in link(link_spec(cost=-1))[0]
    )


def test_a_token_needs_a_window(link_spec):
    for empty in ("", None):
        (fault,) = link(link_spec(mode="token", window=empty))
        assert f"skupper_link_window: {empty!r} is not a duration" in fault and "10m" in fault
        assert link(link_spec(mode="direct", window=empty)) == []


@each_row(
    ("changes", "said"),
    [
        ({"edge": True, "ha": True}, "skupper_site_edge"),
        ({"edge": True, "link_access": "default"}, "skupper_site_edge"),
        ({"settings": {"routerLogging": "error"}}, "Skupper reads router-logging"),
        ({"settings": {"tls-prior-valid-revisions": "many"}}, "is not a number of revisions"),
        ({"controller": "a/b/c"}, "namespace/name"),
        ({"cluster": "Site_A"}, "is not a DNS name"),
        ({"name": "a" * 57}, "has 57 characters; 56 are possible"),
        ({"install": "manifests", "version": "latest"}, "is not a Skupper release"),
        ({"install": "manifests", "version": "2.1.4"}, "Upgrade Skupper to 2.2.1 or later"),
        ({"install": "manifests", "manifests_checksum": "md5:1"}, "sha256:"),
        ({"install": "operator", "operator_channel": "stable-1"}, "generations are never crossed"),
    ],
)
def test_site(changes, said, site_spec):
    found = site(site_spec(**changes))
    assert any(said in fault for fault in found), found


@each_row("version", ["2.2.1", "v2.2.4", "2.3.0", "3.0.0", "2.2.1-rh-3", "main-1234567", "", None])
def test_releases_that_will_do(version):
    assert version_fault(version) == ""


@each_row("version", ["2.1.4", "2.2.0", "2.1.4-rh-1", "2.0.0"])
def test_releases_that_are_too_old(version):
    assert f"is Skupper {version}: before 2.2.1" in version_fault(version)


def test_a_release_of_the_first_generation():
    assert "of another generation" in version_fault("1.8.3")


def test_networks_of_the_hub_mean_nothing_behind_a_router(supernode_spec):
    spec = supernode_spec(
        connectivity="skupper", superlink_address="flower-superlink:9092", superlink_cidrs=["192.0.2.0/24"]
    )
    assert "has no effect" in supernode_faults(spec)[0]


def test_supernodes_dial_where_the_listener_is(listener_spec):
    text = (ROOT / "roles" / "supernode" / "defaults" / "main.yml").read_text(encoding="utf-8")
    spec = listener_spec()
    assert f"skupper_listener_host | default('{spec['host']}')" in text
    assert f"skupper_listener_port | default({spec['port']})" in text
