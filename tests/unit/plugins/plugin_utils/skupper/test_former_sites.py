# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Site that was made again beside a Link of the former one: the router never gets the Link, which stays Ready all the same."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.skupper import links, network, state
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given
from ansible_collections.federated.flower.tests.unit.rows import each_row

BEFORE, AFTER = "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"
UP = {"name": "flower-hub-skupper-router", "operational": True, "remoteSiteId": "uid-of-hub", "remoteSiteName": "hub"}


def made(item, when):
    return {**item, "metadata": {**item["metadata"], "creationTimestamp": when}}


def site(*listed, at=AFTER, of="uid-of-site-a"):
    """A Site that tells of these links."""
    record = {"id": of, "name": "site-a", "links": list(listed)} if listed else {"id": of, "name": "site-a"}
    return made(given.site(network=[record]), at)


@each_row(
    ("link_at", "own", "good"),
    [
        (AFTER, site(at=BEFORE), True),
        (AFTER, site(at=AFTER), True),  # in the same second
        (BEFORE, site(), False),
        (BEFORE, site({**UP, "operational": False}), False),
        (BEFORE, site({**UP, "name": "another"}), False),
        (BEFORE, site({**UP, "remoteSiteId": "uid-of-another"}), False),
        (BEFORE, site(UP, of="uid-of-another"), False),
        (BEFORE, site(UP), True),  # someone has made Skupper look at it again
        (BEFORE, None, True),
    ],
)
def test_conditions_from_before_the_site_count_for_nothing(link_at, own, good):
    link = made(given.link(), link_at)
    found = state.link(link, "uid-of-hub", own)
    assert found.ready is good and links.works(link, "uid-of-hub", own) is good
    if not good:
        assert f"it is older ({BEFORE}) than the Site of its namespace ({AFTER})" in found.why


def test_only_our_own_links_are_made_again(parsed_link):
    ours, theirs = made(given.link(), BEFORE), made(given.link("theirs", ours=False), BEFORE)
    young = made(given.link("flower-hub-skupper-router-2"), AFTER)
    own = links.Site(site(), [ours, theirs, young])
    assert links.outlived(parsed_link(), own) == [ours]


def test_a_link_of_someone_else_that_is_older_than_the_site_is_no_proof(parsed_link, ca_hub):
    theirs = made(given.link("theirs", ours=False), BEFORE)
    own = site()
    plan = links.decide(parsed_link(), ca_hub, links.Site(own, [theirs]), None)
    assert plan.do == links.ADOPT, "it is used, since it is meant for the hub"
    assert "Link flower/theirs: it is older" in links.why_not(parsed_link(), ca_hub, [theirs], own)


@pytest.fixture
def ca_hub():
    return links.Hub(given.hub_site(), "PEM", {"tls.crt": "x", "ca.crt": "PEM"})


def test_the_status_tells_of_it():
    told = network.of_site([site()], [made(given.link(), BEFORE)], [], {}, {})
    assert [(one["ready"], "than the Site" in one["trouble"]) for one in told["links"]] == [(False, True)]
