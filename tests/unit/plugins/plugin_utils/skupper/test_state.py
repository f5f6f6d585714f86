# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils.skupper import links, state
from ansible_collections.federated.flower.plugins.plugin_utils.spec.network_spec import LinkSpec
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given
from ansible_collections.federated.flower.tests.unit.rows import each_row

SPEC = LinkSpec.parse({"cluster": "site-a", "mode": "token", "name": "flower-hub"})
NOW = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.timezone.utc)
SERVICE = {"metadata": {"name": "skupper-router"}, "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}}


@each_row(
    ("conditions", "access", "said", "hopeless"),
    [
        ([], "", "no controller has processed it", False),
        (
            [given.condition("Configured", False, "An active site already exists in the namespace (b)")],
            "",
            "Skupper supports one for a namespace",
            True,
        ),
        (
            [given.condition("Configured", False, "Unsupported value for LinkAccess: nodeport")],
            "nodeport",
            "-enabled-access-types",
            True,
        ),
        ([given.condition("Configured", False, "boom")], "", "it is not Configured: boom", False),
        (
            [given.condition("Configured"), given.condition("Running", False, "Not Running")],
            "",
            "its router does not run: there are no pods",
            False,
        ),
        (
            [given.condition("Configured"), given.condition("Running"), given.condition("Resolved", False, "Pending")],
            "default",
            "the load balancer of Service skupper-router has none",
            False,
        ),
        ([given.condition("Configured", generation=0)], "", "it is not Configured", False),
    ],
)
def test_what_a_site_lacks(conditions, access, said, hopeless):
    found = state.site(given.site(access=access, conditions=conditions, endpoints=[]), [SERVICE])
    assert not found.ready and said in found.why and found.failed is hopeless


def test_a_site_that_nobody_links_to_needs_no_address():
    assert state.site(given.site(conditions=[given.condition("Configured"), given.condition("Running")])).ready


def test_a_link_has_to_lead_to_the_hub():
    assert state.link(given.link(), "uid-of-hub").ready and links.works(given.link(), "uid-of-hub")
    other = state.link(given.link(remote="uid-of-another"), "uid-of-hub")
    assert not other.ready and "not to the hub's (uid-of-hub)" in other.why
    assert not links.works(given.link(remote="uid-of-another"), "uid-of-hub")
    assert not links.works(given.link(), "")


def test_what_a_link_lacks():
    down = state.link(given.link(up=False))
    assert "192.0.2.7:45671, 192.0.2.7:55671" in down.why and "not Operational" in down.why
    alone = given.live(
        "Link", "a", {"endpoints": []}, given.condition("Configured", False, "No active site in namespace")
    )
    assert "No active site in namespace" in state.link(alone).why


def listener(*conditions, **status):
    return given.live(
        "Listener",
        "flower-superlink",
        {"host": "flower-superlink", "port": 9092, "routingKey": "k"},
        *conditions,
        **status,
    )


def test_a_listener_without_its_service_is_not_ready_whatever_it_says():
    good = listener(given.condition("Configured"), given.condition("Matched"), given.condition("Ready"))
    assert state.listener(good, {"metadata": {}}).ready
    assert "has created no Service flower-superlink" in state.listener(good, None).why


def test_what_a_listener_lacks():
    lonely = listener(given.condition("Configured"), given.condition("Matched", False, "No matching connectors"))
    assert "no connector in the network has its routing key k" in state.listener(lonely, {}).why
    assert state.listener(listener(given.condition("Configured"), hasMatchingConnector=True), {}).ready
    taken = state.listener(
        listener(given.condition("Configured", False, "Service x already exists in namespace")), None
    )
    assert taken.failed and "already exists" in taken.why


def test_a_connector_is_ready_when_it_has_pods():
    made = given.live(
        "Connector", "a", {"selector": "x=y"}, given.condition("Configured"), given.condition("Matched", False)
    )
    assert state.connector(made).ready
    none = given.live(
        "Connector", "a", {"selector": "x=y"}, given.condition("Configured", False, "No pods match selector")
    )
    assert "No pods match selector" in state.connector(none).why


def test_a_certificate_needs_its_secret():
    good = given.live("Certificate", "a", {}, given.condition("Ready"))
    full = given.secret("a", {"tls.crt": "x", "tls.key": "y", "ca.crt": "z"})
    assert state.certificate(good, full).ready
    assert state.certificate(good, None).why == "its Secret does not exist yet"
    assert "lacks ca.crt" in state.certificate(good, given.secret("a", {"tls.crt": "x", "tls.key": "y"})).why
    foreign = given.live(
        "Certificate", "a", {}, given.condition("Ready", False, "Secret exists but is not controlled by skupper")
    )
    assert state.certificate(foreign, full).failed


@each_row(
    ("grant", "what"),
    [
        (given.grant(), state.USABLE),
        (given.grant(ends="2026-11-21T12:00:10Z"), state.EXPIRED),  # Ready all the same
        (given.grant(ends="2026-11-21T11:00:00Z", redemptions=1), state.EXPIRED),
        (given.grant(redemptions=1), state.EXHAUSTED),
        (given.grant(ready=False), state.PENDING),
        (given.live("AccessGrant", "a", {}), state.PENDING),
        (given.grant(ends="soon"), state.EXPIRED),
    ],
)
def test_a_grant_is_ready_for_ever_but_not_of_use(grant, what):
    assert state.grant(grant, NOW)[0] == what


FAILED = "Controller got failed response: "


@each_row(
    ("message", "do", "why"),
    [
        ("", links.WAIT, "not tried it yet"),
        (FAILED + "404 (Not Found) No such claim", links.ANEW, "no longer has its grant (deleted)"),
        (FAILED + "404 (Not Found) No such access granted", links.ANEW, "used up"),
        (
            FAILED + "403 (Forbidden) Redemption of access token refused",
            links.ANEW,
            "its code is not that of the grant",
        ),
        (FAILED + "500 (Internal Server Error) Failed to create token", links.ANEW, "used it up"),
        ('Controller could not create received secret: secrets "flower-hub" already exists', links.ANEW, "conflicted with"),
        ("Already redeemed for a deleted site", links.ANEW, "a Site that was deleted"),
        (
            "Controller got error: dial tcp 192.0.2.7:9090: connect: connection refused",
            links.WAIT,
            "connection refused",
        ),
        ("Controller got error: x509: certificate signed by unknown authority", links.WAIT, "x509"),
    ],
)
def test_a_token_that_was_not_redeemed(message, do, why):
    found = links.token_verdict(SPEC, links.Site(given.site(), token=given.token(message)), None, NOW)
    assert found.do == do and why in found.why


def test_a_redeemed_token_is_final():
    def verdict(*found):
        return links.token_verdict(SPEC, links.Site(given.site(), found, token=given.token("OK", redeemed=True)), None, NOW)

    assert verdict(given.link()) == links.TokenVerdict(links.DONE)
    assert verdict().do == links.ANEW and "its Link was deleted" in verdict().why


def test_there_is_no_token_yet():
    assert links.token_verdict(SPEC, links.Site(given.site()), None, NOW).do == links.ANEW


def test_a_token_of_someone_else_is_not_replaced():
    foreign = links.token_verdict(SPEC, links.Site(given.site(), token=given.token(ours=False)), None, NOW)
    assert foreign.do == links.REFUSE and "created by someone else" in foreign.why
