# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners, proof
from ansible_collections.federated.flower.plugins.plugin_utils.state import lease_object as record
from ansible_collections.federated.flower.tests.unit.rows import each_row

UTC = datetime.timezone.utc
NOON = datetime.datetime(2026, 11, 22, 12, 0, 0, 250000, UTC)
SHELL = {"who": {"user": "jane", "host": "laptop"}, "playbook": "federated.flower.site", "options": {}}
JOB = {
    "who": {"user": "uid 1000", "host": "automation-job-15-dh22m", "awx_user": "admin", "awx_job": "15"},
    "playbook": "site.yml",
    "options": {"limit": "site-a"},
}
JANE = "jane@laptop, federated.flower.site, ansible-local-7abc"


def after(seconds):
    return NOON + datetime.timedelta(seconds=seconds)


def lease(version="1", **spec):
    item = record.taken(None, "flower", "study", JANE, NOON)
    return {
        **item,
        "metadata": {**item["metadata"], "uid": "u", "resourceVersion": version},
        "spec": {**item["spec"], **spec},
    }


def test_the_holder_is_named_with_job_and_playbook():
    assert record.identity(SHELL, "ansible-local-7abc") == JANE
    job = record.identity(JOB, "ansible-local-9x")
    assert job == "admin@automation-job-15-dh22m, job 15, site.yml --limit site-a, ansible-local-9x"
    assert record.describe_holder({"spec": {"holderIdentity": job}}) == (
        "admin@automation-job-15-dh22m, job 15, site.yml --limit site-a"
    )
    assert record.describe_holder({"spec": {"holderIdentity": "somebody"}}) == "somebody"
    assert record.describe_holder({"spec": {}}) == record.name({"spec": {}}) == "nobody"
    assert record.name({"spec": {"holderIdentity": job}}) == "admin@automation-job-15-dh22m"
    assert record.run_of({"spec": {"holderIdentity": job}}) == "ansible-local-9x"


def test_a_new_lease_is_ours_and_of_the_hub():
    made = record.taken(None, "flower", "study", JANE, NOON)
    assert proof.belongs(made, "study") and owners.part_of(made) == owners.PART_HUB
    assert made["spec"] == {
        "holderIdentity": JANE,
        "leaseDurationSeconds": 60,
        "acquireTime": "2026-11-22T12:00:00.250000Z",
        "renewTime": "2026-11-22T12:00:00.250000Z",
        "leaseTransitions": 0,
    }
    assert record.since(made) == "2026-11-22T12:00:00+00:00"


def test_times_are_written_in_utc_whatever_zone_they_are_given_in():
    there = NOON.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    assert record.taken(None, "flower", "study", JANE, there) == record.taken(None, "flower", "study", JANE, NOON)


@each_row(("seconds", "ended"), [(0, False), (61, False), (63, True), (-3600, False)])
def test_it_ends_by_the_hubs_clock(seconds, ended):
    assert (record.seconds_left(lease(), after(seconds)) <= 0) is ended


@each_row(("duration", "seconds"), [(300, 302), (30, 32), (None, 62)])
def test_it_lasts_as_long_as_its_holder_said(duration, seconds):
    """A run of the first releases says 30 s."""
    assert record.seconds_left(lease(leaseDurationSeconds=duration), after(0)) == seconds


def test_one_without_a_holder_is_free():
    assert record.seconds_left(lease(holderIdentity=""), after(1)) <= 0


@each_row("text", [None, "", "yesterday"])
def test_times_that_nobody_can_read_do_not_hold_it(text):
    odd = lease(renewTime=text, acquireTime=text)
    assert record.since(odd) == ""
    assert record.seconds_left(odd, after(0)) <= 0
