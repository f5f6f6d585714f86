# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that a site makes itself: what its job decides, what it tells, and what the controller makes of that."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
import types
from dataclasses import asdict

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import CLIENT_KEY, SITE
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import (
    keys,
    maker,
    public,
    shipped,
    site_keygen,
)

CPU = keys.Pool("cpu", ["0", "1"], 0)
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": site_jobs.OWNER, "uid": "1-2-3"}


def request(*pools, known=(), dead=(), drop=None):
    return {
        "federation": "demo",
        "namespace": "flower",
        "pools": [asdict(pool) for pool in pools],
        "dead": list(dead),
        "client": "site-a",
        "drop": drop or {},
        "secrets": site_jobs.secret_names([*(pool.name for pool in pools), *known]),
        "renew": {},
        "listener": "",
        "owner": OWNER,
    }


def stored(secret, version="1"):
    """A Secret as the API server gives it back."""
    stored = copy.deepcopy(secret)
    stored["metadata"].update(uid=f"uid of {secret['metadata']['name']}", resourceVersion=version)
    return stored


def after(wanted, live=None, version="1"):
    """The Secrets after the job has done what it decided."""
    live = dict(live or {})
    decision = maker.decide(wanted, live)
    for secret in decision.writes:
        live[secret["metadata"]["name"]] = stored(secret, version)
    for secret in decision.deletes:
        del live[secret["metadata"]["name"]]
    return live, decision


def record(live):
    """The ConfigMap that the job writes."""
    client_request = (
        certificates.client_request(entries(live[CLIENT_KEY])["tls.key"], "site-a") if CLIENT_KEY in live else ""
    )
    return public.record("demo", "flower", live, "site-a", client_request)


def told(live):
    """What the controller reads of the Secrets."""
    return public.read(record(live))


def survey(pools, public_halves, dead=()):
    return public.survey(keys.Wanted(pools, dead, "site-a"), public_halves)


def test_the_first_job_makes_everything_and_tells_public_halves_only():
    live, decision = after(request(CPU))
    assert sorted(live) == [
        "supernode-client-key", "supernode-cpu-keys", "supernode-local-tls", "supernode-superexec",
    ]  # fmt: skip
    assert {keys.source_of(secret) for secret in live.values()} == {SITE}
    assert all("resourceVersion" not in secret["metadata"] for secret in decision.writes)
    published = record(live)
    text = json.dumps(published)
    assert "PRIVATE" not in text
    for secret in live.values():
        assert all(value not in text for value in [*entries(secret).values(), *secret["data"].values()])
    found = survey([CPU], public.read(published))
    assert found.reasons == [] and found.extra == {}
    held = entries(live["supernode-cpu-keys"])
    assert found.keys == [keys.key_facts("cpu", name, keypairs.supernode_public_key(held[name])) for name in ("0", "1")]


def test_a_second_job_would_do_nothing():
    live, _decision = after(request(CPU))
    again = maker.decide(request(CPU), live)
    assert (again.writes, again.deletes, again.reasons) == ([], [], [])


def test_secrets_that_are_gone_are_noticed_without_looking_at_them():
    live, _decision = after(request(CPU))
    published = record(live)
    for name in live:
        left = copy.deepcopy(published)
        owners = left["metadata"]["ownerReferences"]
        left["metadata"]["ownerReferences"] = [owner for owner in owners if owner["name"] != name]
        found = survey([CPU], public.read(left))
        assert found.reasons == [f"{name}: it does not exist"]
        assert len(found.keys) == (0 if name == "supernode-cpu-keys" else 2)
    assert len(survey([CPU], public.read(None)).reasons) == 4


def test_grown_moved_and_dead_are_work_for_the_site_and_kept_keys_stay():
    live, _decision = after(request(CPU))
    before = survey([CPU], told(live)).keys
    dead = [before[1]["fingerprint"]]
    for pool, prints, reason in (
        (keys.Pool("cpu", ["0", "1", "2"], 0), [], "supernode-cpu-keys: no valid keys for 2"),
        (CPU, dead, "supernode-cpu-keys: no valid keys for 1"),
        (keys.Pool("cpu", ["5", "6"], 5), [], "supernode-cpu-keys: its numbers moved from 0 to 5"),
    ):
        assert survey([pool], told(live), prints).reasons == [reason]
        now, decision = after(request(pool, dead=prints), live, "2")
        assert [secret["metadata"]["resourceVersion"] for secret in decision.writes] == ["1"]
        found = survey([pool], told(now), prints)
        assert found.reasons == []
        assert found.keys[0]["fingerprint"] == before[0]["fingerprint"]
        assert (found.keys[1]["fingerprint"] == before[1]["fingerprint"]) == (prints == [])


def test_extra_keys_are_no_work_until_they_are_dropped():
    live, _decision = after(request(CPU, keys.Pool("old", ["2"], 2)))
    found = survey([keys.Pool("cpu", ["0"], 0)], told(live))
    assert found.reasons == []
    assert found.extra == {"cpu": ["1"], "old": ["2"]}
    left = keys.Pool("cpu", ["0"], 0)
    now, decision = after(request(left, known=["old"], drop=found.extra), live, "2")
    assert [secret["metadata"]["name"] for secret in decision.deletes] == ["supernode-old-keys"]
    assert entries(now["supernode-cpu-keys"]) == {"0": entries(live["supernode-cpu-keys"])["0"]}
    assert survey([left], told(now)).extra == {}


def test_all_secrets_belong_to_one_owner_and_are_taken_over_by_a_new_one():
    live, _decision = after(request(CPU))
    assert all(secret["metadata"]["ownerReferences"] == [OWNER] for secret in live.values())
    renewed = {**request(CPU), "owner": {**OWNER, "uid": "4-5-6"}}
    now, decision = after(renewed, live, "2")
    assert sorted(now) == sorted(secret["metadata"]["name"] for secret in decision.writes)
    for name, secret in now.items():
        assert (
            secret["data"] == live[name]["data"]
            and secret["metadata"]["annotations"] == live[name]["metadata"]["annotations"]
        )
        assert [one["uid"] for one in secret["metadata"]["ownerReferences"]] == ["4-5-6"]
    assert survey([CPU], told(now)).reasons == []


def test_a_shared_secret_is_made_anew_once_for_each_demand():
    live, _decision = after(request(CPU))
    assert told(live).marks == {}
    demand = {**request(CPU), "renew": {"supernode-superexec": "first"}}
    now, decision = after(demand, live, "2")
    assert [secret["metadata"]["name"] for secret in decision.writes] == ["supernode-superexec"]
    assert entries(now["supernode-superexec"]) != entries(live["supernode-superexec"])
    assert told(now).marks == {"supernode-superexec": "first"}
    for same in (demand, request(CPU)):
        assert maker.decide(same, now).writes == []
    other = {**request(CPU), "renew": {"supernode-superexec": "second"}, "owner": {**OWNER, "uid": "4-5-6"}}
    assert told(after(other, now, "3")[0]).marks == {"supernode-superexec": "second"}
    assert told(after({**request(CPU), "owner": {**OWNER, "uid": "4-5-6"}}, now, "3")[0]).marks == told(now).marks


def test_a_wanted_pool_of_no_replicas_keeps_its_secret():
    none = keys.Pool("cpu", [], 0)
    live, _decision = after(request(CPU))
    now, decision = after(request(none, drop={"cpu": ["0", "1"]}), live, "2")
    assert decision.deletes == [] and now["supernode-cpu-keys"]["data"] == {}
    assert survey([none], told(now)).reasons == []


def test_keys_change_with_their_source_in_both_directions():
    by_controller = {
        item["metadata"]["name"]: stored(item) for item in keys.plan("demo", "flower", [CPU], {}, (), "site-a").secrets
    }
    by_site, decision = after(request(CPU), by_controller, "2")
    assert len(decision.writes) == 4
    for name, secret in by_site.items():
        assert not set(entries(secret).values()) & set(entries(by_controller[name]).values())
    back = keys.plan("demo", "flower", [CPU], by_site, (), "site-a")
    assert len(back.secrets) == 4
    assert "supernode-superexec: it was created elsewhere" in back.reasons
    for secret in back.secrets:
        assert keys.source_of(secret) == "controller"
        assert not set(entries(secret).values()) & set(entries(by_site[secret["metadata"]["name"]]).values())


def test_what_the_controller_made_is_not_told_by_the_site():
    by_controller = {
        item["metadata"]["name"]: stored(item) for item in keys.plan("demo", "flower", [CPU], {}, (), "site-a").secrets
    }
    other = keys.Pool("gpu", ["0"], 0)
    live, _decision = after(request(other, known=["cpu"]), by_controller, "2")
    own = {name: there for name, there in live.items() if keys.source_of(there) == SITE}
    assert [pool.name for pool in told(own).pools] == ["gpu"]


def test_a_revoked_client_key_is_replaced_and_a_good_one_is_told():
    live, _decision = after(request(CPU))
    first = survey([CPU], told(live)).client_request
    revoked = [certificates.request_fingerprint(first)]
    found = survey([CPU], told(live), revoked)
    assert found.reasons == ["supernode-client-key: the certificate of the old key was revoked"]
    assert found.client_request == ""
    now, decision = after(request(CPU, dead=revoked), live, "2")
    assert [secret["metadata"]["name"] for secret in decision.writes] == ["supernode-client-key"]
    assert certificates.request_fingerprint(survey([CPU], told(now), revoked).client_request) not in revoked


def test_a_site_without_client_certificates_is_not_asked_for_a_key():
    wanted = {**request(CPU), "client": ""}
    live, decision = after(wanted)
    assert CLIENT_KEY not in live and decision.client_request == ""
    assert public.survey(keys.Wanted([CPU]), told(live)).reasons == []


def test_a_site_whose_certificate_is_not_for_its_door_makes_another_one():
    door = "*.flower.svc"
    live, _decision = after(request(CPU))
    assert door in told(live).names
    assert public.survey(keys.Wanted([CPU], client="site-a", listener=door), told(live)).reasons == []
    old = record(live)
    published = json.loads(old["data"]["public.json"])
    del published["names"]  # as an older release left it
    old["data"]["public.json"] = json.dumps(published)
    assert survey([CPU], public.read(old)).reasons == []
    found = public.survey(keys.Wanted([CPU], client="site-a", listener=door), public.read(old))
    assert found.reasons == [f"supernode-local-tls: it is not valid for {door}"]
    now, decision = after({**request(CPU), "listener": "*.elsewhere.svc"}, live, "2")
    assert [secret["metadata"]["name"] for secret in decision.writes] == ["supernode-local-tls"]


def test_a_malformed_key_is_refused_where_it_was_told():
    """Registered, it would be refused by Flower, together with the keys of all other sites."""
    published = record(after(request(CPU))[0])
    told = json.loads(published["data"]["public.json"])
    for key in told["pools"]["cpu"]["keys"].values():
        key["public_key"] = "ecdsa-sha2-nistp384 AAAA"
    published["data"]["public.json"] = json.dumps(told)
    with pytest.raises(ClusterError, match="not an OpenSSH public key"):
        public.read(published)


def test_a_foreign_config_map_is_an_error_that_says_what_to_do():
    live, _decision = after(request(CPU))
    published = record(live)
    for text in ("", "{}", published["data"]["public.json"].replace("ecdsa-sha2-nistp384 ", "ssh-ed25519 ")):
        broken = copy.deepcopy(published)
        broken["data"]["public.json"] = text
        with pytest.raises(
            ClusterError, match="ConfigMap supernode-public in namespace flower .* delete it and run again"
        ):
            public.read(broken)


def test_a_secret_that_holds_no_key_is_named_and_nothing_of_it_is_shown():
    live, _decision = after(request(CPU))
    live["supernode-cpu-keys"]["data"]["0"] = "c2VjcmV0IHdvcmRz"  # "secret words"
    with pytest.raises(ClusterError, match="supernode-cpu-keys") as caught:
        maker.decide(request(CPU), live)
    assert "secret words" not in str(caught.value)


def test_diff_shows_fingerprints_and_check_mode_no_invented_ones():
    live, _decision = after(request(keys.Pool("cpu", ["0"], 0)))
    before, both = told(live), [CPU]
    found = survey(both, before)
    first = found.keys[0]["fingerprint"]
    found.keys.append(site_keygen.stand_in("cpu", "1"))
    (entry,) = site_keygen.Outcome(found, before).diff("flower")
    assert entry["before"] == f"cpu/0 {first}\n"
    assert entry["after"] == f"cpu/0 {first}\ncpu/1 (to be made)\n"


def test_objects_say_what_became_of_each_secret():
    live, _decision = after(request(CPU))
    grown = keys.Pool("cpu", ["0", "1", "2"], 0)
    now, _decision = after(request(grown), live, "2")
    outcome = site_keygen.Outcome(survey([grown], told(now)), told(live), told(now))
    assert {item["name"]: item["change"] for item in outcome.objects("flower")} == {
        "supernode-client-key": "unchanged", "supernode-cpu-keys": "changed",
        "supernode-local-tls": "unchanged", "supernode-superexec": "unchanged",
    }  # fmt: skip
    fewer = {name: secret for name, secret in now.items() if name != "supernode-cpu-keys"}
    assert site_keygen.changes(told(now), told(fewer))["supernode-cpu-keys"] == "deleted"


def test_the_program_starts_with_nothing_but_python_and_cryptography(tmp_path):
    """As in the job: its files in an empty folder, no collection, no Ansible, no Kubernetes client."""
    for path, text in shipped.files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"import {shipped.MODULE}\n"
        "print([name for name in ('ansible', 'ansible_collections', 'kubernetes', 'yaml', 'urllib3') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[]\n"
    assert sum(map(len, shipped.files().values())) < 500_000  # a ConfigMap holds a MiB


def test_the_imports_of_all_files_are_found_without_parsing_them():
    def parsed(path, text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                file = path.parents[node.level - 1].joinpath(*(node.module or "").split(".")).with_suffix(".py")
                yield from [file] if file.is_file() else (file.with_suffix("") / f"{alias.name}.py" for alias in node.names)

    for name, text in shipped.files().items():
        path = shipped.ROOT.parent / name
        assert set(shipped.imported(path, text)) == set(parsed(path, text)), path


def test_the_controller_asks_for_what_the_job_reads(parsed_site):
    sent = site_keygen._request(parsed_site(), keys.Wanted([CPU]), public.Public())
    assert set(sent) | {"owner"} == set(request(CPU))


def test_a_site_that_always_shows_a_job_is_asked_once(monkeypatch):
    """Each wait for it takes minutes, and all other sites wait as well."""
    waits = []
    lacking = types.SimpleNamespace(reasons=["cpu/0 is missing"])

    class Place:
        name = "site"

        def read(self):
            return public.Public()

        def make_room(self, seconds):
            waits.append(seconds)
            return True

        def run(self, _request, _seconds):
            raise ClusterError("job flower/supernode-keys exists already")

    monkeypatch.setattr(site_keygen.public, "survey", lambda *_arguments: lacking)
    monkeypatch.setattr(site_keygen, "_request", lambda *_arguments: {})
    with pytest.raises(ClusterError, match="exists already"):
        site_keygen.make(Place(), types.SimpleNamespace(namespace="flower"), types.SimpleNamespace(), 300)
    assert waits == [300]
