# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done about Sites, links and listeners: ours, those of others, those that are in the way."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import link_credentials, links, site_plan
from ansible_collections.federated.flower.tests.unit.client_certificates import issue_client
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given
from ansible_collections.federated.flower.tests.unit.rows import each_row

NOW = datetime.datetime.now(datetime.timezone.utc)
YEARS = datetime.timedelta(days=1825)


@pytest.fixture(scope="module")
def ca():
    return certificates.make_ca("hub site CA", YEARS)


@pytest.fixture(scope="module")
def entries(ca):
    """What the hub's Skupper makes for a link."""
    made = issue_client(ca, "site-a", "flower", YEARS)
    return {"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": ca.certificate}


@pytest.fixture
def hub(ca):
    return links.Hub(given.hub_site(), ca.certificate, {"tls.crt": "x", "ca.crt": ca.certificate})


# Sites


def test_an_empty_namespace_gets_a_site(parsed_network_site):
    assert site_plan.decide_site(parsed_network_site(), []) == site_plan.Plan()
    assert site_plan.decide_site(parsed_network_site(), [given.site()]) == site_plan.Plan()


def test_a_renamed_site_takes_the_place_of_the_former(parsed_network_site):
    plan = site_plan.decide_site(parsed_network_site(name="new"), [given.site()])
    assert [one["metadata"]["name"] for one in plan.former] == [
        "site-a"
    ] and "replaced by a Site named new" in plan.warnings[0]


def test_a_hub_whose_host_is_called_differently_keeps_its_site(parsed_network_site):
    """The name of the host is that of an inventory. A Site of another name has another CA, and every site loses its link."""
    hub = {"hub": True, "link_access": "default", "cluster": "hub-fra"}
    found = [given.hub_site()]
    spec = site_plan.of_hub(parsed_network_site(**hub), found)
    assert spec.site_name == "hub" and site_plan.decide_site(spec, found) == site_plan.Plan()
    for changes in ({**hub, "name": "hub-fra"}, {"cluster": "site-b"}):
        assert site_plan.of_hub(parsed_network_site(**changes), found) == parsed_network_site(**changes)
    for there in ([], [given.hub_site(going=True)], [given.hub_site(ours=False)], [given.hub_site(), given.site("other")], [given.site()]):
        assert site_plan.of_hub(parsed_network_site(**hub), there).site_name == "hub-fra"


def test_a_site_that_is_going_is_waited_for(parsed_network_site):
    plan = site_plan.decide_site(parsed_network_site(), [given.site(going=True)])
    assert len(plan.leaving) == 1 and not plan.former and not plan.fault


def test_a_site_of_someone_else_is_used_as_it_is(parsed_network_site):
    plan = site_plan.decide_site(parsed_network_site(), [given.site("theirs", ours=False)])
    assert plan.adopted["metadata"]["name"] == "theirs" and "never changed or deleted" in plan.warnings[0]


def test_a_hub_of_someone_else_has_to_let_sites_in(parsed_network_site):
    closed = site_plan.decide_site(parsed_network_site(link_access="default"), [given.site("theirs", ours=False)])
    assert "lets no other site link to it" in closed.fault and "kubectl -n flower patch site theirs" in closed.fault
    assert not site_plan.decide_site(parsed_network_site(link_access="default"), [given.site("theirs", "route", ours=False)]).fault
    # A RouterAccess of their own does it, too.
    assert not site_plan.decide_site(
        parsed_network_site(link_access="default"), [given.site("x", ours=False, endpoints=given.ENDPOINTS)]
    ).fault


@pytest.mark.parametrize("ours", [True, False])
def test_two_sites_are_one_too_many(ours, parsed_network_site):
    refused = given.site(
        "second",
        ours=False,
        conditions=[given.condition("Configured", False, "An active site already exists in the namespace (site-a)")],
    )
    plan = site_plan.decide_site(parsed_network_site(), [given.site(ours=ours), refused])
    assert (
        "namespace flower has 2 Sites" in plan.fault
        and "site-a" in plan.fault
        and "second (created by someone else)" in plan.fault
    )
    assert f"site-a ({'ours' if ours else 'created by someone else'}, the one that Skupper serves)" in plan.fault
    assert site_plan.active([refused, given.site()])["metadata"]["name"] == "site-a"


def test_what_skupper_made_for_a_deleted_site():
    config = given.live("ConfigMap", "skupper-router", owners=["Site"])
    assert site_plan.dependents("uid-of-Site", [config, given.live("ConfigMap", "other")]) == [
        "ConfigMap flower/skupper-router"
    ]


# Links


def decided(spec, hub, *found, **site):
    return links.decide(spec, hub, links.Site(given.site(), list(found), **site), NOW)


def test_a_new_site_gets_a_certificate_or_a_token(parsed_link, hub):
    assert decided(parsed_link(), hub).do == links.CERTIFICATE
    assert decided(parsed_link(mode="token"), hub).do == links.TOKEN


def test_a_site_that_is_linked_keeps_its_links(parsed_link, hub, entries):
    ours = {"secret": given.secret("flower-hub", entries), "entries": entries}
    direct = decided(parsed_link(), hub, given.link(), **ours)
    assert (direct.do, direct.names) == (links.CERTIFICATE, {"skupper-router": "flower-hub-skupper-router"})
    token = decided(parsed_link(mode="token"), hub, given.link("flower-hub"), **ours)
    assert (token.do, token.names) == (links.KEEP, {"skupper-router": "flower-hub"})
    # Also when it is not up: a hub that is away comes back.
    assert decided(parsed_link(mode="token"), hub, given.link("flower-hub", up=False), **ours).do == links.KEEP


def test_a_link_that_came_of_a_token_is_ours_before_it_has_our_label(parsed_link, hub, entries):
    found = given.link("flower-hub", ours=False)
    redeemed = {"secret": given.secret("flower-hub", entries, ours=False, owners=["Site"]), "entries": entries}
    assert decided(parsed_link(mode="token"), hub, found, **redeemed).do == links.KEEP
    assert decided(parsed_link(), hub, found, **redeemed).names == {"skupper-router": "flower-hub"}
    # The apply engine refuses what another controller made, unless it is told that these are ours.
    theirs = given.link("other", ours=False, credentials="other")
    own = links.Site(given.site(), [found, theirs], redeemed["secret"], entries, None)
    assert links.redeemed_uids(parsed_link(), own) == ["uid-of-flower-hub", "uid-of-flower-hub"]
    foreign = links.Site(given.site(), [found, theirs], given.secret("flower-hub", entries, ours=False), entries, None)
    assert links.redeemed_uids(parsed_link(), foreign) == []


def test_a_certificate_of_a_former_ca_is_replaced_without_a_token(parsed_link, hub, entries):
    other = certificates.make_ca("former", YEARS)
    old = issue_client(other, "site-a", "flower", YEARS)
    held = {"tls.crt": old.certificate, "tls.key": old.key, "ca.crt": other.certificate}
    plan = decided(
        parsed_link(mode="token"), hub, given.link("flower-hub"), secret=given.secret("flower-hub", held), entries=held
    )
    assert plan.do == links.CERTIFICATE and "another CA" in plan.why


def test_a_link_of_someone_else_is_left_alone(parsed_link, hub):
    theirs = given.link("link-hub", ours=False, credentials="link-hub")
    plan = decided(parsed_link(), hub, theirs)
    assert plan.do == links.ADOPT and plan.adopted is theirs and "must be renewed by its owner" in plan.warnings[0]
    # One that is down but meant for the hub is waited for: a second one would stay for ever.
    assert decided(parsed_link(), hub, given.link("link-hub", up=False, ours=False, credentials="x")).do == links.ADOPT


def test_both_linked_is_told(parsed_link, hub, entries):
    ours = {"secret": given.secret("flower-hub", entries), "entries": entries}
    plan = decided(parsed_link(), hub, given.link(), given.link("x", ours=False, credentials="x"), **ours)
    assert plan.do == links.CERTIFICATE and "one link is sufficient" in plan.warnings[0]


def test_a_secret_of_someone_else_is_in_the_way(parsed_link, hub, entries):
    for mode in ("direct", "token"):
        plan = decided(
            parsed_link(mode=mode), hub, secret=given.secret("flower-hub", entries, ours=False), entries=entries
        )
        assert "Secret flower/flower-hub exists already" in plan.fault and "skupper_link_name" in plan.fault


def test_a_denied_site_is_not_linked(parsed_link, ca):
    denied = links.Hub(given.hub_site(), ca.certificate, {}, {"state": "denied", "since": "2026"})
    assert decided(parsed_link(), denied).do == links.WITHHOLD and "since 2026" in decided(parsed_link(), denied).why


def test_who_cannot_be_linked(parsed_link, hub, ca):
    assert "federated.flower.site for the hub" in decided(parsed_link(), links.Hub(None)).fault
    assert "no Site in namespace flower" in links.decide(parsed_link(), hub, links.Site(None), NOW).fault
    own = links.decide(parsed_link(), hub, links.Site(given.hub_site()), NOW)
    assert "is the hub's own" in own.fault and "direct" in own.fault


def test_what_has_to_go_before_another_token(parsed_link, entries):
    redeemed = given.secret("flower-hub", entries, ours=False, owners=["Site"])
    own = links.Site(
        given.site(),
        [given.link("flower-hub-1", ours=False), given.link("x", ours=False, credentials="x")],
        redeemed,
        {},
        given.token(),
    )
    assert [item["metadata"]["name"] for item in links.leftovers(parsed_link(), own)] == [
        "flower-hub",
        "flower-hub-1",
        "flower-hub",
    ]
    foreign = links.Site(given.site(), [], given.secret("flower-hub", entries, ours=False), {}, given.token(ours=False))
    assert links.leftovers(parsed_link(), foreign) == []


def test_verdict_on_a_token(parsed_link, entries):
    expired = given.grant(ends="2020-01-01T00:00:00Z")
    own = links.Site(
        given.site(), [], None, {}, given.token("Controller got failed response: 404 (Not Found) No such claim")
    )
    found = links.token_verdict(parsed_link(), own, expired, NOW)
    assert found.do == links.ANEW and "expired: it expired on 2020" in found.why
    assert "deleted" in links.token_verdict(parsed_link(), own, None, NOW).why
    foreign = links.Site(given.site(), [], given.secret("flower-hub", entries, ours=False), entries, given.token())
    assert links.token_verdict(parsed_link(), foreign, None, NOW).do == links.REFUSE


def test_why_a_site_is_not_linked(parsed_link, hub):
    assert links.why_not(parsed_link(), hub, [given.link()]) == ""
    assert "there is no Link" in links.why_not(parsed_link(), hub, [])
    assert "Link flower/flower-hub-skupper-router: it is not Operational" in links.why_not(
        parsed_link(), hub, [given.link(up=False)]
    )


# Certificates of links


def test_when_a_certificate_of_a_link_is_made_anew(ca, entries):
    def fault(now=NOW, authority=ca.certificate, subject="site-a", **changes):
        return link_credentials.fault({**entries, **changes}, authority, now, subject=subject)

    assert fault() == ""
    assert fault(NOW + YEARS / 2 + datetime.timedelta(days=1)).startswith("it expires on")
    assert fault(NOW + YEARS * 2).startswith("it expired on")
    assert "another CA" in fault(authority=certificates.make_ca("new", YEARS).certificate)
    assert "another site" in fault(subject="site-b")
    assert "belongs to another certificate" in fault(**{"tls.key": keypairs.make_client_key()})
    assert "is empty" in fault(**{"tls.crt": ""})
    early = link_credentials.fault(entries, "", NOW, datetime.timedelta(days=1824))
    assert early == "" and link_credentials.fault(entries, "", NOW, YEARS * 1.1).startswith("it expires on")


def test_whom_a_site_trusts_while_the_ca_changes(ca):
    new = certificates.make_ca("new", YEARS)
    both = ca.certificate + new.certificate
    assert link_credentials.trust(new.certificate, {"ca.crt": both}).count("BEGIN CERTIFICATE") == 2
    assert link_credentials.trust(new.certificate, {"ca.crt": new.certificate}) == new.certificate
    assert link_credentials.trust(new.certificate, {}) == new.certificate
    assert link_credentials.same_authorities(both, new.certificate + ca.certificate)


def test_what_ends_soon(ca):
    facts = {"what": "the CA", **link_credentials.describe(ca.certificate)}
    assert link_credentials.ending([facts], NOW, datetime.timedelta(days=30)) == []
    assert link_credentials.ending([facts], NOW, YEARS * 2)[0].startswith("the CA expires on")
    assert link_credentials.ending([facts], NOW + YEARS * 2, YEARS)[0].startswith("the CA expired on")
    assert "serial" in facts and link_credentials.describe("nothing") == {}


# Listeners


def listener(name="theirs", host="flower-superlink", port=9092, key="flower-fleet", ours=False):
    return given.live("Listener", name, {"host": host, "port": port, "routingKey": key}, ours=ours)


def service(skupper=False):
    labels = {"internal.skupper.io/listener": "true"} if skupper else {}
    return {"metadata": {"name": "flower-superlink", "namespace": "flower", "labels": labels}, "spec": {}}


def test_a_listener_is_made(parsed_listener):
    assert site_plan.decide_listener(parsed_listener(), [], None) == site_plan.Plan()
    assert (
        site_plan.decide_listener(parsed_listener(), [listener("flower-superlink", ours=True)], service(True))
        == site_plan.Plan()
    )


def test_a_listener_of_someone_else_that_does_the_same(parsed_listener):
    plan = site_plan.decide_listener(parsed_listener(), [listener()], service(True))
    assert plan.adopted["metadata"]["name"] == "theirs" and not plan.fault


@each_row(
    ("found", "said"),
    [
        (listener(port=9443), "Set skupper_listener_port to 9443"),
        (listener(key="other"), "for another routing key (other)"),
        (listener("flower-superlink", host="x", key="y"), "has the name of ours"),
    ],
)
def test_a_listener_of_someone_else_that_does_not_fit(found, said, parsed_listener):
    plan = site_plan.decide_listener(parsed_listener(), [found], None)
    assert said in plan.fault and "created by someone else" in plan.fault and plan.adopted is None


def test_a_service_is_in_the_way(parsed_listener):
    assert (
        "Service flower/flower-superlink exists already"
        in site_plan.decide_listener(parsed_listener(), [], service()).fault
    )
    assert site_plan.decide_listener(parsed_listener(), [], service(True)) == site_plan.Plan()


def connector(name="theirs", key="flower-fleet", port=9092, ours=False, **more):
    return given.live("Connector", name, {"routingKey": key, "port": port, **more}, ours=ours)


def test_a_connector(parsed_listener):
    assert site_plan.decide_connector(parsed_listener(), [connector("flower-superlink", ours=True)]) == site_plan.Plan()
    assert site_plan.decide_connector(parsed_listener(), [connector()]).adopted is not None
    assert site_plan.decide_connector(parsed_listener(), [connector(port=443, host="superlink")]).adopted is not None
    assert "leads to port 9091" in site_plan.decide_connector(parsed_listener(), [connector(port=9091)]).fault
    assert (
        "another routing key (x)"
        in site_plan.decide_connector(parsed_listener(), [connector("flower-superlink", "x")]).fault
    )
    assert site_plan.decide_connector(parsed_listener(), [connector(key="db", port=5432)]) == site_plan.Plan()
