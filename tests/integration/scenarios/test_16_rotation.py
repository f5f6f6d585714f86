# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates, keys and secrets are replaced during runs; sites that are down and control nodes that die are waited for.

Two of them have a long form that C(make soak) runs. FLOWER_SEED=N kills at the same moments as a previous run.
"""

from __future__ import annotations

import os
import random
import time

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.integration.scenarios.certificates_of import (
    SECRET,
    SITES,
    authority,
    leaf,
    served,
    signer,
    trusts,
)

AT_ONCE = ("-e", "cert_rotation_grace=0")

# When process 1 of a container began, by the kernel's clock.
BEGAN = "print(open('/proc/1/stat').read().rpartition(')')[2].split()[19])"


def rotate(fed, kind, *arguments, rc=0, **inventory):
    """Run the playbook; it leaves the federation as site.yml would."""
    settled = fed.settled
    run = fed.play("rotate_certs", "-e", f"flower_rotate={kind}", *arguments, rc=rc, **inventory)
    fed.settled = settled and rc == 0
    return run


def rows(run):
    """The table of handshakes, a list of words a line."""
    table = next(one["result"]["handshakes"] for one in run.results if one["result"].get("handshakes"))
    assert table[0].startswith("SITE"), table
    print("\n".join(table))
    return [line.split() for line in table[1:]]


def all_online(fed):
    fed.wait_online(*(node for site in SITES for node in fed.keys(site).values()))


def lives(fed):
    """Pods of sites and hub with their restarts."""
    return [fed.lives(site) for site in SITES] + [fed.lives("hub", name=name) for name in ("serverapp", "superlink")]


def began(fed):
    """When the SuperNodes' and the SuperLink's processes began."""
    found = {(site, pod): fed.python(site, pod, "supernode", BEGAN) for site in SITES for pod in fed.pods(site)}
    return {**found, ("hub", "superlink-0"): fed.python("hub", "superlink-0", "superlink", BEGAN)}


def over(fed, before):
    """The rotation is over, and nothing of it is left."""
    state = authority(fed)
    ca = state.authority.current.certificate
    assert state.phase == "idle" and set(state.notes().values()) == {None} and ca != before
    assert trusts(fed) == [ca.strip()] * 3
    assert fed.hub.get("v1", "Secret", "superlink-gateway-next-tls", fed.namespace) is None
    assert served(fed) == leaf(fed)
    assert (
        certificates.reissue_reason(entries(fed.hub.get("v1", "Secret", SECRET, fed.namespace))["tls.crt"], ca, [])
        is None
    )
    all_online(fed)


def hold_run(fed, rounds, sleep=0.0):
    """Submit an app that is active until it is told to complete; returns its number, and what tells it and waits for its end."""
    return fed.hold(**{"num-server-rounds": rounds, "min-nodes": 3, "sleep": sleep})


def is_active(fed, number):
    return not fed.app_runs()[number].startswith("finished")


def words(entry, site):
    return " ".join(entry["sites"].get(site, {}).get("words", []))


def test_what_is_due_is_told_and_nothing_changed(fed):
    run = fed.play("rotate_certs")
    assert set(run.changed.values()) == {0} and "nothing is due" in run.messages()
    fed.settled = True
    ca, before = signer(fed), leaf(fed)
    told = fed.play("rotate_certs", "--check", "-e", "flower_rotate=ca").messages()
    assert "let the next CA sign" in told and "site-a, site-b" in told
    due = ("-e", "cert_rotation_certificate_days=200", "-e", "cert_rotation_renew_before=100d")
    told = fed.play("rotate_certs", "--check", *due).messages()
    assert "leaf: it expires on" in told and "nothing restarts" in told
    assert signer(fed) == ca and leaf(fed) == before


LONG = pytest.param(True, id="long", marks=pytest.mark.soak)


@pytest.mark.parametrize("is_long", [pytest.param(False, id="short"), LONG])
def test_certificates_and_the_ca_during_a_run(fed, is_long):
    """New certificates and a new CA; new shared secrets wait behind the run. It completes, and nothing restarts for the first."""
    before, start, ca = lives(fed), began(fed), signer(fed)
    seen = [leaf(fed)]
    # Nodes that sleep leave the CPU to the rotations.
    number, finish = hold_run(fed, 6, 12.0) if is_long else hold_run(fed, 2)

    for _number in range(2 if is_long else 1):
        table = rows(rotate(fed, "leaf"))
        was, now = seen[-1], leaf(fed)
        assert now not in seen and served(fed) == now
        assert [row[2:] for row in table] == [[was[:12], now[:12], "yes", "yes"]] * 3, table
        seen.append(now)

    table = rows(rotate(fed, "ca", *AT_ONCE))
    over(fed, ca)
    assert [row[2:] for row in table] == [[seen[-1][:12], leaf(fed)[:12], "yes", "yes"]] * 3, table
    assert is_active(fed, number)
    assert lives(fed) == before and began(fed) == start, "something was restarted"

    waiting = fed.start("rotate_certs", "-e", "flower_rotate=superexec")
    fed.wait_for_output(waiting, f"waiting for run {number}")
    result = finish()
    assert result.rc == 0, result.details()
    assert f"run {number} of federated-flower/quickstart completed" in result.messages(), result.messages()
    renewed = waiting()
    assert renewed.rc == 0, renewed.details()
    after = lives(fed)
    assert all(
        {uid for uid, _n in old.values()}.isdisjoint(uid for uid, _n in new.values()) for old, new in zip(before, after)
    )
    all_online(fed)
    _number, finish = fed.begin(**{"num-server-rounds": 1, "min-nodes": 3})
    assert finish().rc == 0, "the new secrets do not fit"
    told = " ".join(words(entry, "hub") for entry in fed.trail()[-10:])
    assert "the rotation of the CA is adding" in told and "the rotation of the CA is complete" in told
    assert (
        f"restarted pod {fed.namespace}/superlink-0" in told
        and "all shared secrets and internal certificates are new" in told
    )
    fed.unchanged()


def kill(fed, seconds):
    """Start a rotation of the CA and kill it with its forks, so many seconds after it has shown its plan."""
    finish = fed.start("rotate_certs", "-e", "flower_rotate=ca", *AT_ONCE)
    fed.wait_for_output(finish, "ca: it was requested: create the next CA")
    time.sleep(seconds)
    finish.crash()
    print(f"killed {seconds:.1f} s after it began (exit code {finish().rc}): {authority(fed).phase}")


@pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.soak)])
def test_killed_on_its_way(fed, times):
    """kill -9 at random points of a rotation of the CA: each time the next run ends in the same state."""
    seed = int(os.environ.get("FLOWER_SEED") or random.randrange(10**6))
    print(f"FLOWER_SEED={seed}")
    moments = random.Random(seed)
    before = lives(fed)
    for _number in range(times):
        ca = signer(fed)
        kill(fed, moments.uniform(0, 12))  # it takes about as long
        state = authority(fed)
        following = state.authority.next.certificate if state.phase == "adding" else signer(fed)
        # A run that finds nothing open starts a new rotation: "due" completes what is open and no more.
        rotate(fed, "ca" if following == ca else "due", *AT_ONCE)
        over(fed, ca)
        assert following in (ca, signer(fed)), "another CA was created than the one of the started rotation"
        assert lives(fed) == before, "a pod was restarted"
        fed.trail()
    fed.unchanged()


def test_client_certificates_and_keys(fed):
    """Sites are given new client certificates while all runs; one site new keys, and the other does not notice."""

    def clients():
        return {site: record["client"]["serial"] for site, record in fed.ledger().read_records().items()}

    old, before = clients(), lives(fed)
    rotate(fed, "client")
    new = clients()
    assert all(old[site] != new[site] for site in SITES) and lives(fed) == before
    all_online(fed)
    keys, others = fed.keys("site-b"), (fed.keys("site-a"), fed.lives("site-a"))
    rotate(fed, "supernode_keys", "--limit", "site-b")
    assert set(fed.keys("site-b")) == set(keys) and not set(fed.keys("site-b").values()) & set(keys.values())
    nodes = fed.nodes()
    assert {nodes[node] for node in keys.values()} == {"unregistered"}
    assert (fed.keys("site-a"), fed.lives("site-a")) == others
    assert len(fed.ledger().read_records()["site-b"]["retired"]) >= len(keys)
    all_online(fed)
    fed.unchanged()


def scale(fed, site, pool, replicas):
    fed.cluster(site).patch(
        "apps/v1", "StatefulSet", f"supernode-{pool}", fed.namespace, {"spec": {"replicas": replicas}}
    )


def test_without_sidecars_and_with_a_site_that_is_stopped(fed):
    """SuperNodes read their CA bundle once: they are restarted in waves, all online, no run active. A stopped site stops it."""
    hosts = fed.base()
    for site in SITES:
        hosts[site]["supernode_sidecar"] = False
    plain = {"hosts": hosts, "flower_mtls": False}
    fed.site(hosts, flower_mtls=False)
    all_online(fed)
    ca, before = signer(fed), [fed.lives(site) for site in SITES]
    scale(fed, "site-b", "gpu", 0)
    fed.wait("its end", lambda: not fed.pods("site-b"), 60)
    told = rotate(fed, "ca", *AT_ONCE, "-e", "cert_rotation_proof_timeout=5", rc=2, **plain).messages(failed=True)
    assert "stays adding" in told and "site-b: SuperNode gpu/2 has no running pod" in told, told
    assert "while all others are online; site-b: gpu/2 is offline" in told and fed.lives("site-a") == before[0], told
    state = authority(fed)
    assert state.phase == "adding" and signer(fed) == ca and served(fed) == leaf(fed)

    # site.yml in the middle of it brings the site back and disturbs nothing.
    scale(fed, "site-b", "gpu", 1)
    fed.wait("its return", lambda: fed.pods("site-b"), 60)
    all_online(fed)
    number, finish = hold_run(fed, 1)
    told = rotate(fed, "due", *AT_ONCE, "-e", "cert_rotation_wait=1", rc=2, **plain).messages(failed=True)
    assert f"run {number}" in told and "cert_rotation_force" in told, told
    assert authority(fed) == state, "it went on although SuperNodes do not trust the next CA"
    assert finish().rc == 0

    run = rotate(fed, "due", *AT_ONCE, **plain)
    over(fed, ca)
    assert all(row[4:] == ["yes", "yes"] for row in rows(run)), rows(run)
    after = [fed.lives(site) for site in SITES]
    assert all(
        {uid for uid, _n in old.values()}.isdisjoint(uid for uid, _n in new.values()) for old, new in zip(before, after)
    )
    fed.unchanged(hosts, flower_mtls=False)
    fed.settled = False
