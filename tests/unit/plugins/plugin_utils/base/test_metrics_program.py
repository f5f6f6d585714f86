# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exporter's program: what it makes of what it reads. The scenario of metrics runs it against a real hub."""

from __future__ import annotations

import datetime
import http.client
import json
import re
import socket
import threading
import time

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.programs import metrics_http, run_metrics
from ansible_collections.federated.flower.plugins.plugin_utils.programs import metrics_program as program

KEY = {"pool": "default", "name": "0", "public_key": "ecdsa", "dead": False}
NOW = 1_000_000.0


def record(*nodes, **more):
    return {"keys": {f"SHA256:{node}": {**KEY, "node_id": node} for node in nodes}, "retired": {}, **more}


def values(samples, name):
    return {tuple(one.labels.values()): one.value for one in samples if one.name == name}


def ago(seconds):
    return datetime.datetime.fromtimestamp(NOW - seconds, datetime.timezone.utc).isoformat()


def run(status, sub_status="", **times):
    return {
        "status": status,
        "sub_status": sub_status,
        **dict.fromkeys(("pending_at", "starting_at", "running_at", "finished_at"), ""),
        **{name: ago(seconds) for name, seconds in times.items()},
    }


def test_names_follow_the_conventions_of_prometheus():
    for name, (kind, _labels, _words) in program.METRICS.items():
        assert re.fullmatch("flower_[a-z_]+", name)
        assert (kind == "counter") == name.endswith("_total")
        assert not name.endswith(("_time", "_date", "_ms", "_minutes"))


def test_supernodes_are_counted_by_site_and_state():
    nodes = [("1", "online"), ("2", "offline"), ("3", "online"), ("4", "unregistered"), ("5", "registered"), ("9", "online")]
    sites = {"a": record("1", "2", "4"), "b": record("3", "5"), "new": record(None)}
    found = values(program.of_nodes(nodes, sites), "flower_supernodes")
    assert found == {
        ("a", "online"): 1, ("a", "offline"): 1, ("a", "registered"): 0,
        ("b", "online"): 1, ("b", "offline"): 0, ("b", "registered"): 1,
        ("new", "online"): 0, ("new", "offline"): 0, ("new", "registered"): 0,
        ("unknown", "online"): 1,
    }  # fmt: skip


def test_without_the_ledger_all_sites_are_unknown():
    assert values(program.of_nodes([("1", "online")], None), "flower_supernodes") == {("unknown", "online"): 1}


def test_runs():
    runs = [
        run("pending", pending_at=30),
        run("running", pending_at=900, running_at=600),
        run("running", pending_at=9000, running_at=8000),
        run("finished", "completed", pending_at=99, finished_at=50),
        run("finished", "failed", pending_at=99, finished_at=70),
        run("finished", "failed", pending_at=99, finished_at=20),
    ]
    found = program.of_runs(runs, NOW)
    assert values(found, "flower_runs") == {
        ("pending",): 1, ("starting",): 0, ("running",): 2, ("completed",): 1, ("failed",): 2, ("stopped",): 0,
    }  # fmt: skip
    assert values(found, "flower_oldest_run_age_seconds") == {("pending",): 30, ("starting",): 0, ("running",): 8000}
    assert values(found, "flower_last_run_timestamp_seconds") == {("completed",): NOW - 50, ("failed",): NOW - 20}


class Link:
    """A SuperLink's list of runs, the newest first, which counts how often runs that have ended are listed."""

    def __init__(self):
        self.runs = []
        self.cleaned = 0

    def add(self, number, status):
        self.runs.insert(0, {**run(status, "completed" if status == "finished" else "", pending_at=10_000 - number), "run_id": number})

    def _listed(self, found):
        self.cleaned += sum(one["status"] == "finished" for one in found)
        return [dict(one) for one in found]

    def newest(self, limit, skip):
        return self._listed(self.runs[skip : skip + limit])

    def one(self, number):
        found = [one for one in self.runs if one["run_id"] == number]
        if not found:
            raise LookupError(number)
        return self._listed(found)


def numbers(found, status):
    return sorted(one["run_id"] for one in found if one["status"] == status)


def test_runs_that_have_ended_are_not_asked_for_again():
    link, runs = Link(), program.Runs()
    assert runs.read(link.newest, link.one) == []
    for number in range(60):
        link.add(number, "running" if number in (20, 55) else "finished")
    first = runs.read(link.newest, link.one)
    assert len(first) == program.NEWEST and numbers(first, "running") == [20, 55]
    for _time in range(3):
        link.cleaned = 0
        assert numbers(runs.read(link.newest, link.one), "running") == [20, 55]
        assert link.cleaned == 1
    link.runs[-21]["status"] = "finished"  # number 20
    for number in (60, 61, 62):
        link.add(number, "finished" if number == 61 else "running")
    found = runs.read(link.newest, link.one)
    assert numbers(found, "running") == [55, 60, 62] and {20, 61} <= set(numbers(found, "finished"))
    assert len(found) == program.NEWEST


def test_a_database_that_was_replaced_is_read_anew():
    link, runs = Link(), program.Runs()
    link.add(1, "running")
    runs.read(link.newest, link.one)
    link.runs = []
    link.add(2, "finished")
    with pytest.raises(LookupError):
        runs.read(link.newest, link.one)
    assert numbers(runs.read(link.newest, link.one), "finished") == [2]


def test_logs_are_read_piece_by_piece_and_once_more_after_the_end():
    asked = []

    def read(number, since):
        asked.append((number, since))
        return "INFO :      [ROUND 1/3]\n" if not since else "INFO :      [ROUND 2/3]\n", since + 5

    logs = program.Logs(run_metrics.Progress, read)
    old = [{**run("finished", "completed", pending_at=1000 - number, running_at=9, finished_at=1), "run_id": number} for number in range(5)]
    one = {**run("running", pending_at=3, running_at=2), "run_id": 9}
    assert values(logs.samples([*old, one]), "flower_run_round") == {("9",): 1}
    assert values(logs.samples([*old, one]), "flower_run_round") == {("9",): 2}
    ended = {**run("finished", "completed", pending_at=3, running_at=2, finished_at=1), "run_id": 9}
    for _time in range(2):
        assert values(logs.samples([*old, ended]), "flower_run_round") == {("9",): 2}
    assert asked == [(9, 0.0), (9, 5.0), (9, 10.0)], "those that had ended are not read, and what has ended is read once more"
    waiting = {**run("pending", pending_at=0), "run_id": 10}
    assert values(logs.samples([*old, ended, waiting]), "flower_run_round") == {("9",): 2} and len(asked) == 3


def test_logs_are_read_together_so_that_all_take_as_long_as_one():
    together = threading.Barrier(program.LOGS)

    def read(number, since):
        together.wait(60)
        return f"INFO :      [ROUND {number}/9]\n", since + 5

    logs = program.Logs(run_metrics.Progress, read)
    runs = [{**run("running", pending_at=number, running_at=1), "run_id": number} for number in range(1, program.LOGS + 1)]
    found = values(logs.samples(runs), "flower_run_round")
    assert found == {(str(number),): number for number in range(1, program.LOGS + 1)}


def test_a_log_that_cannot_be_read_loses_nothing_of_the_others():
    down = set()

    def read(number, since):
        if number in down:
            raise OSError("503")
        return f"INFO :      [ROUND {number + int(since)}/9]\n", since + 5

    logs = program.Logs(run_metrics.Progress, read)
    runs = [{**run("running", pending_at=9, running_at=1), "run_id": number} for number in (1, 2)]
    assert values(logs.samples(runs), "flower_run_round") == {("1",): 1, ("2",): 2}
    logs.check()
    down.add(2)
    for since in (5, 10):
        assert values(logs.samples(runs), "flower_run_round") == {("1",): 1 + since}, "the other one is read, once"
        with pytest.raises(OSError, match="503"):
            logs.check()
    down.clear()
    ended = [{**one, "status": "finished"} for one in runs]
    assert values(logs.samples(ended), "flower_run_round") == {("1",): 16, ("2",): 7}
    logs.check()


def test_a_run_whose_first_log_cannot_be_read_is_read_later():
    def read(number, since):
        raise OSError("503")

    logs = program.Logs(run_metrics.Progress, read)
    one = {**run("running", pending_at=9, running_at=1), "run_id": 1}
    assert logs.samples([one]) == [] and logs.known == {1: (None, 0.0, False)}
    logs.read = lambda _number, since: ("INFO :      [ROUND 1/3]\n", since + 5)
    assert values(logs.samples([{**one, "status": "finished"}]), "flower_run_round") == {("1",): 1}


@pytest.mark.parametrize("text", ["1970-01-12T13:46:40Z", "1970-01-12T13:46:40+00:00", "1970-01-12 13:46:40", "1970-01-12T15:46:40+02:00"])
def test_times(text):
    assert program.seconds(text) == NOW


def test_every_certificate_of_a_bundle():
    two = [certificates.make_ca(name, datetime.timedelta(days=days)).certificate for name, days in (("one", 10), ("two", 20))]
    found = values(program.of_certificates({"ca": "".join(two), "client-ca": ""}), "flower_certificate_expiry_timestamp_seconds")
    ends = {certificates.describe(pem)["serial"]: certificates.describe(pem)["not_after"] for pem in two}
    assert found == {("ca", "", serial): program.seconds(end) for serial, end in ends.items()}


def test_sites():
    client = {"serial": "2d", "not_after": ago(0)}
    found = program.of_sites({"a": record(client=client), "b": record(access={"since": ago(9)})})
    assert values(found, "flower_site_admitted") == {("a",): 1, ("b",): 0}
    assert values(found, "flower_certificate_expiry_timestamp_seconds") == {("client", "a", "2d"): NOW}


def test_revocations_count_until_they_expire():
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    good, old = {"serial": "1", "since": ago(9), "until": later.isoformat()}, {"serial": "2", "since": ago(9), "until": ago(1)}
    book = {"sites": {}, "revoked": [{**good, "site": "left"}, {**good, "serial": "3"}]}
    found = program.of_book(book, {"a": record(revoked=[good, old]), "b": record()})
    assert values(found, "flower_revoked_certificates") == {("a",): 1, ("b",): 0, ("left",): 1, ("unknown",): 1}


@pytest.mark.parametrize(("first", "overlaps"), [(2, 0), (1, 1)])
def test_partitions_of_two_pools(first, overlaps):
    pools = {"a": {"pools": {"cpu": {"offset": 0, "size": 2}, "none": {"offset": 0, "size": 0}}}, "b": {"pools": {"cpu": {"offset": first, "size": 2}}}}
    assert values(program.of_book({"sites": pools}, {}), "flower_ledger_faults") == {("overlap",): overlaps}


def test_ledger_and_superlink_are_compared():
    sites = {"a": record("1", "2", "3", None)}
    sites["a"]["keys"]["SHA256:3"]["leaving"] = True
    nodes = [("1", "offline"), ("2", "unregistered"), ("9", "online"), ("8", "unregistered")]
    assert values(program.of_differences(nodes, sites), "flower_ledger_faults") == {("lost",): 1, ("foreign",): 1}


def test_deployments_and_acceptances():
    deployed = {"sites": {"a": {"at": ago(60), "version": "1.41.0"}, "gone": {"at": ago(0), "version": "1.40.0"}}}
    found = program.of_deployments(deployed, {"a": record(region="eu")})
    assert values(found, "flower_site_info") == {("a", "eu", "1.41.0"): 1, ("gone", "", "1.40.0"): 1}
    assert values(found, "flower_site_deployed_timestamp_seconds") == {("a",): NOW - 60, ("gone",): NOW}
    accepted = {"sites": {"a": {"at": ago(9), "score": 88, "accepted": False}, "b": {"at": ago(9), "score": None, "accepted": True}}}
    found = program.of_acceptances(accepted)
    assert values(found, "flower_site_accepted") == {("a",): 0, ("b",): 1}
    assert values(found, "flower_site_acceptance_score") == {("a",): 88}
    assert program.of_deployments({}, {}) == program.of_acceptances({}) == []


def test_copies_of_the_hub():
    found = program.of_copies({"at": ago(60), "bytes": 5, "archive": "x.tar", "opened": True}, {"copied": ago(2)})
    assert [one.value for one in found] == [NOW - 60, 5, NOW - 2]
    assert program.of_copies({}, {}) == []


def test_traffic_of_a_site():
    found = program.of_traffic({"a": "3 40 2 5 7\n", "b": "0 0 0 0 0\n"})
    assert [one.value for one in found] == [3, 40, 2, 5120, 7168, 0, 0, 0, 0, 0]
    assert {one.name for one in found} <= set(program.METRICS) and [one.labels["site"] for one in found] == ["a"] * 5 + ["b"] * 5


def test_a_record_that_is_damaged_is_counted_and_the_others_are_read(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    records = program.Records("flower", "test", tmp_path)
    items = [{"metadata": {"labels": {"federated.flower/site": site}}, "data": {"ledger.json": text}} for site, text in (("a", "{}"), ("b", "{"))]
    monkeypatch.setattr(records, "_ask", lambda query: {"items": items})
    assert records.sites() == {"a": {}} and records.unreadable == 1


def test_audit():
    log = "\n".join(json.dumps({"time": ago(seconds)}) for seconds in (90, 60))
    found = program.of_audit(json.dumps({"entries": 7, "log": 1}), log)
    assert [(one.name, one.value) for one in found] == [
        ("flower_audit_entries", 7.0),
        ("flower_last_change_timestamp_seconds", NOW - 60),
    ]
    assert program.of_audit("", "") == []


class Stand:
    """Sources whose answers a test sets."""

    logs = None
    unreadable = 0

    def __init__(self):
        self.broken = set()
        self.asked = 0

    def sites(self):
        self.asked += 1
        if "kubernetes" in self.broken:
            raise OSError("403")
        return {"a": record("1")}

    def samples(self, sites):
        return program.of_sites(sites)

    def ask(self):
        if "superlink" in self.broken:
            raise OSError("503")
        return [("1", "online")], []

    def traffic(self, sites):
        return program.of_traffic(dict.fromkeys(sites, "1 2 3 4 5"))

    def certificates(self, gateway):
        if "gateway" in self.broken:
            raise ValueError(gateway)
        return []


@pytest.mark.parametrize(
    ("broken", "gone"),
    [
        ("superlink", {"flower_supernodes", "flower_ledger_faults"}),
        ("kubernetes", {"flower_site_admitted", "flower_ledger_faults"} | {name for name in program.METRICS if "gateway_site" in name}),
        ("gateway", set()),
    ],
)
def test_a_source_that_fails_is_a_metric_and_the_others_are_read(broken, gone, capsys):
    clock = [0.0]
    stand = Stand()
    exporter = program.Exporter(stand, stand, "hub.example.com", lambda: clock[0])
    before = {one.name for one in exporter.samples()}
    stand.broken = {broken}
    clock[0] = program.SECONDS
    for number in (1, 2):
        after = exporter.samples()
        assert values(after, "flower_exporter_source_up") == {(one,): float(one != broken) for one in program.SOURCES}
        assert values(after, "flower_exporter_errors_total")[broken,] == number
        assert before - {one.name for one in after} == gone
        assert f"{broken}: " in capsys.readouterr().err
        clock[0] += program.SECONDS


def test_while_a_record_cannot_be_read_no_supernode_is_said_to_be_unknown():
    """It may be one of that record's, and who unregisters it loses it."""
    nodes = [("1", "online"), ("9", "online")]
    assert values(program.of_differences(nodes, {"a": record("1", "2")}, 1), "flower_ledger_faults") == {("lost",): 1}
    stand = Stand()
    stand.unreadable = 1
    found = values(program.Exporter(stand, stand, "").samples(), "flower_ledger_faults")
    assert ("foreign",) not in found and ("lost",) in found


def test_answers_are_kept_for_a_while():
    clock = [0.0]
    stand = Stand()
    exporter = program.Exporter(stand, stand, "", lambda: clock[0])
    for now in (0.0, 5.0, program.SECONDS - 0.1):
        clock[0] = now
        exporter.samples()
    assert stand.asked == 1
    clock[0] = program.SECONDS
    exporter.samples()
    assert stand.asked == 2


def test_a_scrape_ends_although_nothing_answers(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(program, "BUDGET", -1.0)  # the time of a scrape is over
    (tmp_path / "ca.crt").write_text(certificates.make_ca("one", datetime.timedelta(days=1)).certificate)
    (tmp_path / "token").write_text("secret")
    exporter = program.Exporter(program.Hub("192.0.2.1:9093", tmp_path), program.Records("flower", "test", tmp_path), "hub.example.com")
    found = values(exporter.samples(), "flower_exporter_source_up")
    assert found == dict.fromkeys([(one,) for one in program.SOURCES], 0.0)
    log = capsys.readouterr().err
    assert all(f"{source}: TimeoutError: the answers before took all of the time" in log for source in ("kubernetes", "gateway"))


def test_text_format():
    samples = [
        program.Sample("flower_audit_entries", {}, 7.0),
        program.Sample("flower_gateway_site_requests_total", {"site": "a"}, 3),
        program.Sample("flower_run_metric", {"run": "1", "metric": 'a"b\\c\nd'}, 0.25),
    ]
    lines = metrics_http.text_format(program.METRICS, samples).split("\n")
    assert [line for line in lines if not line.startswith("# HELP ")] == [
        "# TYPE flower_run_metric gauge",
        r'flower_run_metric{run="1",metric="a\"b\\c\nd"} 0.25',
        "# TYPE flower_gateway_site_requests_total counter",
        'flower_gateway_site_requests_total{site="a"} 3.0',
        "# TYPE flower_audit_entries gauge",
        "flower_audit_entries 7.0",
        "",
    ]
    assert metrics_http.text_format(program.METRICS, []) == ""


def test_series_of_a_metric_are_limited(monkeypatch, capsys):
    monkeypatch.setattr(metrics_http, "SERIES", 2)
    text = metrics_http.text_format(program.METRICS, program.of_sites({name: record() for name in "abc"}))
    assert [line for line in text.splitlines() if line[0] != "#"] == ['flower_site_admitted{site="a"} 1.0', 'flower_site_admitted{site="b"} 1.0']
    assert capsys.readouterr().err == "flower_site_admitted: 1 of 3 series are left out\n"


@pytest.fixture
def server():
    server = metrics_http.Server(0, lambda: "flower_audit_entries 7.0\n")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def get(server, path="/metrics"):
    """Status, type and text of an answer; None where the connection was refused."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("content-type"), answer.read().decode()
    except OSError:
        return None
    finally:
        connection.close()


def test_the_server_has_one_page_and_logs_nothing(server, capfd):
    assert get(server) == get(server, "/metrics?x=1") == (200, "text/plain; version=0.0.4; charset=utf-8", "flower_audit_entries 7.0\n")
    assert get(server, "/%0Ax")[0] == get(server, "/")[0] == 404
    socket.create_connection(server.server_address[:2]).close()  # as a probe does
    assert get(server)[0] == 200
    assert capfd.readouterr() == ("", "")


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_slow_clients_cannot_keep_others_out(server, monkeypatch):
    monkeypatch.setattr(metrics_http.Handler, "timeout", 600)  # they send a byte from time to time
    address = ("127.0.0.1", server.server_address[1])
    clients = [socket.create_connection(address) for _number in range(metrics_http.CLIENTS)]
    for one in clients:
        one.sendall(b"GET /metr")
    until(lambda: len(server.ends) == metrics_http.CLIENTS)
    assert get(server) is None
    server.ends = dict.fromkeys(server.ends, 0.0)  # their time is over
    until(lambda: get(server) is not None)
    for one in clients:
        one.settimeout(60)
        assert not one.recv(1000)
        one.close()
