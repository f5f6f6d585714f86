# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in a pod of the hub: metrics of the federation for Prometheus.

It asks the SuperLink for runs and SuperNodes through a port of the gateway that passes two reading calls and nothing else, and the API
server for the records that are ConfigMaps. It runs in the SuperLink's image, with C(metrics_http) beside it: Flower's packages are imported
late, the rest also runs without them. What cannot be read is a metric as well, and all others of its source are absent, not old.
"""

from __future__ import annotations

import datetime
import http.client
import importlib
import json
import math
import os
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

HEADER = "x-flower-metrics"  # of the shared secret, at the gateway
SECONDS = 15  # for which answers are kept: several Prometheus servers cost no more than one
PATIENCE = 3.0  # seconds for one answer: Prometheus waits ten for all of them, and must see which source is down
BUDGET = 8.0  # seconds after which nothing more is asked for one scrape
NEWEST = 50  # runs that are known
LOGS = 5  # the newest runs whose logs are read
LOG_LENGTH = 4_000_000  # characters of a log after which the next scrape goes on
QUIET = 0.7  # seconds without a line after which a log is taken as read; a SuperLink looks for more every half second
STATES = ("online", "offline", "registered")
UNKNOWN = "unknown"
ACTIVE = ("pending", "starting", "running")
ENDED = ("completed", "failed", "stopped")
SUPERLINK, GATEWAY, KUBERNETES = SOURCES = ("superlink", "gateway", "kubernetes")
RUN_LOGS = "logs"  # a source where they are read
TRAFFIC = "/sites/"  # path of the gateway's port, before the name of a site
# Records beside those of sites: all are JSON under C(ledger.json), but for that of a standby hub.
BOOK, ACCEPTANCE, DEPLOYED, BACKUP, STANDBY = "flower-ledger", "flower-acceptance", "flower-deployed", "flower-backup", "flower-standby"
# What can be wrong with the ledger.
LOST, FOREIGN, UNREADABLE, OVERLAP = "lost", "foreign", "unreadable", "overlap"

#: Name -> kind, labels and help. The guide on metrics has the same table.
METRICS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "flower_hub_info": ("gauge", ("federation", "version"), "Always 1; the version of Flower that the hub was deployed with."),
    "flower_supernodes": ("gauge", ("site", "state"), "SuperNodes that are registered, by site and state."),
    "flower_site_admitted": ("gauge", ("site",), "1 if the hub admits the site, 0 if it is denied."),
    "flower_runs": ("gauge", ("state",), "Runs by state, of the newest 50."),
    "flower_oldest_run_age_seconds": ("gauge", ("state",), "Age of the oldest run that is in this state; 0 without one."),
    "flower_last_run_timestamp_seconds": ("gauge", ("state",), "When the last run of the newest 50 ended in this state."),
    "flower_run_round": ("gauge", ("run",), "The round that a run is at, where its log says so."),
    "flower_run_metric": ("gauge", ("run", "metric"), "Last value of a metric of a run, where its log says so."),
    "flower_certificate_expiry_timestamp_seconds": (
        "gauge",
        ("certificate", "site", "serial"),
        "End of validity. The label site is there for client certificates of sites.",
    ),
    "flower_revoked_certificates": ("gauge", ("site",), "Client certificates that were revoked and have not expired, by site."),
    "flower_site_info": ("gauge", ("site", "region", "version"), "Always 1; the version of Flower with which the site was last deployed."),
    "flower_site_deployed_timestamp_seconds": ("gauge", ("site",), "When site.yml last deployed the site, also without a change."),
    "flower_site_acceptance_score": ("gauge", ("site",), "Points of the site's last acceptance, from 0 to 100."),
    "flower_site_accepted": ("gauge", ("site",), "1 if the site passed its last acceptance, 0 if not."),
    "flower_site_verified_timestamp_seconds": ("gauge", ("site",), "When the site's last acceptance was."),
    "flower_ledger_faults": (
        "gauge",
        ("fault",),
        "Where ledger and SuperLink differ: SuperNodes that only one of them has, records that cannot be read, overlapping partitions.",
    ),
    "flower_gateway_site_connections_total": ("counter", ("site",), "Connections with the site's certificate."),
    "flower_gateway_site_requests_total": ("counter", ("site",), "Requests with the site's certificate."),
    "flower_gateway_site_refusals_total": ("counter", ("site",), "Of these, those that were refused."),
    "flower_gateway_site_received_bytes_total": ("counter", ("site",), "Bytes from the site, in steps of 1024."),
    "flower_gateway_site_sent_bytes_total": ("counter", ("site",), "Bytes to the site, in steps of 1024."),
    "flower_last_backup_timestamp_seconds": ("gauge", (), "When the last backup of the hub was started."),
    "flower_last_backup_bytes": ("gauge", (), "Size of the archive of that backup."),
    "flower_standby_shipped_timestamp_seconds": ("gauge", (), "How old the state is that a standby hub has."),
    "flower_audit_entries": ("gauge", (), "Entries of the audit trail."),
    "flower_last_change_timestamp_seconds": ("gauge", (), "When the last entry of the audit trail was recorded."),
    "flower_exporter_source_up": ("gauge", ("source",), "1 if the last attempt to read the source succeeded."),
    "flower_exporter_errors_total": ("counter", ("source",), "Failed attempts to read the source."),
}


Run = dict[str, Any]  # its number, state and times


class Sample(NamedTuple):
    """One value of a metric."""

    name: str
    labels: dict[str, str]
    value: float


def seconds(text: str) -> float:
    """A time of Flower or of a record, ISO 8601, in seconds since 1970. Without a zone it is UTC."""
    time_of = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (time_of if time_of.tzinfo else time_of.replace(tzinfo=datetime.timezone.utc)).timestamp()


def of_nodes(nodes: Iterable[tuple[str, str]], sites: Mapping[str, Mapping[str, Any]] | None) -> list[Sample]:
    """SuperNodes by site and state.

    Args:
        nodes: id and state of each SuperNode, as SuperLink reports them. Those that were unregistered never come back, and do not count.
        sites: site -> its record in the ledger; None where the ledger cannot be read, so that every site is unknown.
    """
    owners = {
        str(key["node_id"]): site
        for site, record in (sites or {}).items()
        for key in record.get("keys", {}).values()
        if key.get("node_id")
    }
    counted = {(site, state): 0 for site in sites or {} for state in STATES}
    for node, state in nodes:
        if state in STATES:
            place = (owners.get(node, UNKNOWN), state)
            counted[place] = counted.get(place, 0) + 1
    return [Sample("flower_supernodes", {"site": site, "state": state}, count) for (site, state), count in sorted(counted.items())]


def of_runs(runs: Iterable[Run], now: float) -> list[Sample]:
    """Runs by state, and what alerts need to know of them.

    Args:
        runs: dicts with C(status), C(sub_status) and the times C(pending_at), C(starting_at), C(running_at) and C(finished_at).
        now: the SuperLink's present time, in seconds.
    """
    counted = dict.fromkeys((*ACTIVE, *ENDED), 0)
    ages = dict.fromkeys(ACTIVE, 0.0)
    ended: dict[str, float] = {}
    for run in runs:
        state = run["sub_status"] if run["status"] == "finished" else run["status"]
        counted[state] = counted.get(state, 0) + 1
        if state in ages and run[f"{state}_at"]:
            ages[state] = max(ages[state], now - seconds(run[f"{state}_at"]))
        elif run["finished_at"]:
            ended[state] = max(ended.get(state, 0.0), seconds(run["finished_at"]))
    return [
        *(Sample("flower_runs", {"state": state}, count) for state, count in counted.items()),
        *(Sample("flower_oldest_run_age_seconds", {"state": state}, age) for state, age in ages.items()),
        *(Sample("flower_last_run_timestamp_seconds", {"state": state}, last) for state, last in ended.items()),
    ]


def of_certificates(pems: Mapping[str, str]) -> list[Sample]:
    """Ends of certificates; of a bundle, of each of them.

    Args:
        pems: what they are -> certificates, PEM; an empty text for none.
    """
    from cryptography import x509

    found = {}
    for name, pem in pems.items():
        for one in x509.load_pem_x509_certificates(pem.encode()) if pem.strip() else []:
            # not_valid_after_utc is that of cryptography 42 and later.
            end = getattr(one, "not_valid_after_utc", None) or one.not_valid_after.replace(tzinfo=datetime.timezone.utc)
            found[name, f"{one.serial_number:x}"] = end.timestamp()
    return [
        Sample("flower_certificate_expiry_timestamp_seconds", {"certificate": name, "site": "", "serial": serial}, end)
        for (name, serial), end in found.items()
    ]


def of_sites(sites: Mapping[str, Mapping[str, Any]]) -> list[Sample]:
    """What the ledger says of sites.

    Args:
        sites: site -> its record.
    """
    found = []
    for site, record in sites.items():
        found.append(Sample("flower_site_admitted", {"site": site}, 0.0 if record.get("access") else 1.0))
        client = record.get("client") or {}
        if client.get("not_after"):
            labels = {"certificate": "client", "site": site, "serial": str(client["serial"])}
            found.append(Sample("flower_certificate_expiry_timestamp_seconds", labels, seconds(client["not_after"])))
    return found


def of_book(book: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]]) -> list[Sample]:
    """What the ledger says of the fleet as a whole.

    Args:
        book: partitions, and revocations of sites that left.
        sites: site -> its record.
    """
    counted = dict.fromkeys(sites, 0)
    for site, entry in [*((entry.get("site", UNKNOWN), entry) for entry in book.get("revoked", [])), *_revoked(sites)]:
        if not entry.get("until") or seconds(entry["until"]) > time.time():
            counted[site] = counted.get(site, 0) + 1
    pools = [pool for site in book.get("sites", {}).values() for pool in site["pools"].values() if pool["size"]]
    ranges = sorted((pool["offset"], pool["offset"] + pool["size"]) for pool in pools)
    overlap = sum(first < end for (_start, end), (first, _end) in zip(ranges, ranges[1:]))
    return [
        *(Sample("flower_revoked_certificates", {"site": site}, float(count)) for site, count in counted.items()),
        Sample("flower_ledger_faults", {"fault": OVERLAP}, float(overlap)),
    ]


def _revoked(sites: Mapping[str, Mapping[str, Any]]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return ((site, entry) for site, record in sites.items() for entry in record.get("revoked", []))


def of_differences(nodes: Iterable[tuple[str, str]], sites: Mapping[str, Mapping[str, Any]], unreadable: int = 0) -> list[Sample]:
    """SuperNodes that either the ledger or the SuperLink does not have.

    Args:
        nodes: id and state of each SuperNode, as SuperLink reports them.
        sites: site -> its record in the ledger.
        unreadable: records of other sites that cannot be read. Any SuperNode may be one of theirs, so none counts as unknown to the ledger.
    """
    there = {node for node, state in nodes if state in STATES}
    keys = [key for record in sites.values() for key in record.get("keys", {}).values() if key.get("node_id")]
    known = {str(key["node_id"]) for key in keys}
    wanted = {str(key["node_id"]) for key in keys if not key.get("leaving")}
    return [
        Sample("flower_ledger_faults", {"fault": LOST}, float(len(wanted - there))),
        *([] if unreadable else [Sample("flower_ledger_faults", {"fault": FOREIGN}, float(len(there - known)))]),
    ]


def of_deployments(deployed: Mapping[str, Any], sites: Mapping[str, Mapping[str, Any]]) -> list[Sample]:
    """When the sites were deployed, and with which version of Flower.

    Args:
        deployed: the record of deployments.
        sites: site -> its record in the ledger.
    """
    found = []
    for site, one in deployed.get("sites", {}).items():
        region = str((sites.get(site) or {}).get("region") or "")
        found.append(Sample("flower_site_info", {"site": site, "region": region, "version": str(one["version"])}, 1.0))
        found.append(Sample("flower_site_deployed_timestamp_seconds", {"site": site}, seconds(one["at"])))
    return found


def of_acceptances(accepted: Mapping[str, Any]) -> list[Sample]:
    """What the sites measured when they were last verified.

    Args:
        accepted: the record of acceptances.
    """
    found = []
    for site, one in accepted.get("sites", {}).items():
        found.append(Sample("flower_site_accepted", {"site": site}, 1.0 if one.get("accepted") else 0.0))
        found.append(Sample("flower_site_verified_timestamp_seconds", {"site": site}, seconds(one["at"])))
        if one.get("score") is not None:
            found.append(Sample("flower_site_acceptance_score", {"site": site}, float(one["score"])))
    return found


def of_copies(backup: Mapping[str, Any], standby: Mapping[str, Any]) -> list[Sample]:
    """How old the copies of the hub are.

    Args:
        backup: the record of the last backup; empty without one.
        standby: that of a standby hub, with C(copied); empty without one.
    """
    found = []
    if backup.get("at"):
        found.append(Sample("flower_last_backup_timestamp_seconds", {}, seconds(backup["at"])))
        found.append(Sample("flower_last_backup_bytes", {}, float(backup["bytes"])))
    if standby.get("copied"):
        found.append(Sample("flower_standby_shipped_timestamp_seconds", {}, seconds(standby["copied"])))
    return found


def of_traffic(counted: Mapping[str, str]) -> list[Sample]:
    """What went through the gateway.

    Args:
        counted: site -> the gateway's answer: connections, requests, refusals, and the kilobytes from it and to it.
    """
    found = []
    for site, text in counted.items():
        for (what, factor), number in zip(_COUNTED.items(), text.split()):
            found.append(Sample(f"flower_gateway_site_{what}_total", {"site": site}, float(number) * factor))
    return found


# In the order of the gateway's answer; what one count of it stands for.
_COUNTED = {"connections": 1, "requests": 1, "refusals": 1, "received_bytes": 1024, "sent_bytes": 1024}


def of_audit(head: str, log: str) -> list[Sample]:
    """What the audit trail says of changes.

    Args:
        head: the head record, JSON; empty where there is no trail.
        log: entries, one line of JSON each, up to the last one.
    """
    if not head:
        return []
    found = [Sample("flower_audit_entries", {}, float(json.loads(head)["entries"]))]
    if lines := log.splitlines():
        found.append(Sample("flower_last_change_timestamp_seconds", {}, seconds(json.loads(lines[-1])["time"])))
    return found


def time_left(end: float) -> float:
    """Seconds for the next answer of a scrape that ends at a time of C(time.monotonic)."""
    if (found := end - time.monotonic()) <= 0:
        raise TimeoutError("the answers before took all of the time")
    return min(PATIENCE, found)


class Runs:
    """The newest runs, as of the last time they were read.

    SuperLink cleans up after each run that has ended whenever it lists it (flwr 1.41, C(control_handlers.list_runs)), which is writing to its
    database. So those that are known to have ended, which do not change any more, are not asked for again, but for one.
    """

    def __init__(self) -> None:
        self.known: dict[int, Run] = {}

    def read(self, newest: Callable[[int, int], list[Run]], one: Callable[[int], list[Run]]) -> list[Run]:
        """The newest runs.

        Args:
            newest: so many runs, the newest first, after so many that are left out -> the runs.
            one: number of a run -> that run.
        """
        before, self.known = self.known, {}  # after an error, all are read again: the database may be another one
        found = [] if before else newest(NEWEST, 0)
        while before and len(found) < NEWEST:
            page = newest(1, len(found))
            found += page
            if not page or before.get(page[0]["run_id"], {}).get("status") == "finished":
                break
        seen = {run["run_id"] for run in found}
        for number, run in before.items():
            if run["status"] != "finished" and number not in seen:
                found += one(number)
        merged = {**before, **{run["run_id"]: run for run in found}}
        latest = sorted(merged.values(), key=lambda run: str(run["pending_at"]), reverse=True)
        self.known = {run["run_id"]: run for run in latest[:NEWEST]}
        return list(self.known.values())


class Logs:
    """What the logs of runs say of rounds and metrics, as of the last time they were read.

    Args:
        make: makes what a log is given to piece by piece (C(run_metrics.Progress)).
        read: number of a run and a time -> the log since then, and the time until which it is.
    """

    def __init__(self, make: Callable[[], Any], read: Callable[[int, float], tuple[str, float]]) -> None:
        self.make, self.read = make, read
        self.known: dict[int, tuple[Any, float, bool]] = {}  # the newest run last; whether it was read to its end
        self.faults: dict[int, Exception] = {}  # of the last attempt, by run

    def check(self) -> None:
        """Raise what kept a log from being read the last time."""
        for error in self.faults.values():
            raise error

    def samples(self, runs: Iterable[Run]) -> list[Sample]:
        """Read what is new of the newest runs, once more after their end. One whose log cannot be read now has no values; see C(check).

        Args:
            runs: the newest runs.
        """
        newest = sorted(runs, key=lambda run: str(run["pending_at"]), reverse=True)[:LOGS]
        # One that had ended before is not read.
        known = {run["run_id"]: self.known.get(run["run_id"], (None, 0.0, run["status"] == "finished")) for run in reversed(newest)}
        due = [run for run in newest if run["running_at"] and not known[run["run_id"]][2]]
        self.known, self.faults = known, {}

        def attempt(run: Run) -> None:
            number = run["run_id"]
            progress, since, _done = known[number]
            try:
                text, until = self.read(number, since)
                progress = progress or self.make()
                progress.feed(text)
            except Exception as error:  # of any library: it is raised when the others were read
                self.faults[number] = error
            else:
                known[number] = (progress, until, run["status"] == "finished")

        with ThreadPoolExecutor(LOGS) as threads:  # together: a log of which there is always more takes all of the time for one answer
            list(threads.map(attempt, due))
        found = []
        for number, (progress, _until, _done) in known.items():
            if progress is not None and number not in self.faults:
                if progress.round():
                    found.append(Sample("flower_run_round", {"run": str(number)}, float(progress.round())))
                found += [Sample("flower_run_metric", {"run": str(number), "metric": name}, value) for name, value in progress.values().items()]
        return found


class Records:
    """The federation's records, read from the API server.

    Args:
        folder: files C(token) and C(ca.crt) of the pod's account.
    """

    def __init__(self, namespace: str, federation: str, folder: Path) -> None:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        self.base = f"https://{f'[{host}]' if ':' in host else host}:{port}/api/v1/namespaces/{namespace}/configmaps"
        self.federation = federation
        self.folder = folder
        self.unreadable = 0  # records of sites, when they were last read
        self.end = math.inf  # of the present scrape

    def _ask(self, query: str) -> Any:
        # Both files are renewed while the program runs.
        request = urllib.request.Request(self.base + query, headers={"Authorization": f"Bearer {(self.folder / 'token').read_text()}"})
        trust = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        # No proxy of the environment: the API server is inside the cluster.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust))
        with opener.open(request, timeout=time_left(self.end)) as response:
            return json.load(response)

    def named(self, name: str) -> dict[str, str]:
        """The data of one ConfigMap; empty if it does not exist."""
        query = urllib.parse.urlencode({"fieldSelector": f"metadata.name={name}"})
        return next((item.get("data") or {} for item in self._ask(f"?{query}")["items"]), {})

    def sites(self) -> dict[str, dict[str, Any]]:
        """Site -> its record in the ledger."""
        label = "federated.flower/site"
        chosen = f"app.kubernetes.io/component=ledger,app.kubernetes.io/instance={self.federation},{label}"
        items = self._ask("?" + urllib.parse.urlencode({"labelSelector": chosen}))["items"]
        found = {}
        self.unreadable = 0
        for item in items:
            try:
                found[item["metadata"]["labels"][label]] = json.loads(item["data"]["ledger.json"])
            except (KeyError, ValueError):  # it is counted, and the other sites are read
                self.unreadable += 1
        return found

    def recorded(self, name: str, key: str = "ledger.json") -> dict[str, Any]:
        """The content of a record; empty if it does not exist."""
        found: dict[str, Any] = json.loads(self.named(name).get(key) or "{}")
        return found

    def samples(self, sites: Mapping[str, Mapping[str, Any]]) -> list[Sample]:
        """Everything but the SuperNodes."""
        hub, clients, head = (self.named(name) for name in ("flower-federation", "superlink-clients", "flower-audit"))
        text = head.get("head.json", "")
        log = self.named(f"flower-audit-{json.loads(text)['log']:05}").get("log.jsonl", "") if text else ""
        info = {"federation": self.federation, "version": hub.get("version", "")}
        return [
            Sample("flower_hub_info", info, 1.0),
            *of_sites(sites),
            *of_book(self.recorded(BOOK), sites),
            *of_deployments(self.recorded(DEPLOYED), sites),
            *of_acceptances(self.recorded(ACCEPTANCE)),
            *of_copies(self.recorded(BACKUP), self.recorded(STANDBY, "standby.json")),
            Sample("flower_ledger_faults", {"fault": UNREADABLE}, float(self.unreadable)),
            *of_certificates({"ca": hub.get("ca.crt", ""), "client-ca": clients.get("ca.crt", "")}),
            *of_audit(text, log),
        ]


class Hub:
    """The gateway's port for this program.

    Args:
        address: C(host:port).
        folder: files C(ca.crt), of the CA of the port's certificate, and C(token).
        progress: as C(make) of C(Logs); None where logs are not read.
    """

    def __init__(self, address: str, folder: Path, progress: Callable[[], Any] | None = None) -> None:
        self.address = address
        self.folder = folder
        self.end = math.inf  # of the present scrape
        self.runs = Runs()
        self.logs: Logs | None = None
        if progress is not None:
            self.logs = Logs(progress, self.log)

    def intercept(self, context: Any, call_next: Callable[[Any], Any]) -> Any:
        """Add the shared secret to a request; it may have been exchanged since the last one (flwr, C(ProtobufClientInterceptor))."""
        context.request.headers[HEADER] = (self.folder / "token").read_text().strip()
        answer = call_next(context)
        if context.rpc_method.endswith("/StreamLogs"):
            context.request.extensions["timeout"]["read"] = QUIET  # flwr waits without a limit
        return answer

    def log(self, number: int, since: float) -> tuple[str, float]:
        """The log of a run since a time, and the time until which it is. A SuperLink sends what there is, and then waits for more."""
        from flwr.proto.control_pb2 import StreamLogsRequest

        client = self._client()
        text, until, end = "", since, time.monotonic() + time_left(self.end)
        stream = client.StreamLogs(StreamLogsRequest(run_id=number, after_timestamp=since))
        try:
            for answer in stream:
                text, until = text + answer.log_output, max(until, answer.latest_timestamp)
                if time.monotonic() > end or len(text) > LOG_LENGTH:
                    break
        except importlib.import_module("httpx").ReadTimeout:  # what flwr is made with
            pass  # there is no more for now
        finally:
            stream.close()
            client.close()
        return text, until

    def _client(self) -> Any:
        from flwr.supercore.control import ControlHttpClient

        trust = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        return ControlHttpClient(f"https://{self.address}", interceptors=[self], verify=trust, timeout=time_left(self.end))

    def ask(self) -> tuple[list[tuple[str, str]], list[Sample]]:
        """Id and state of every SuperNode, and the metrics of runs."""
        from flwr.proto.control_pb2 import ListNodesRequest, ListRunsRequest

        client = self._client()

        def listed(**which: int) -> list[Run]:
            time_left(self.end)
            return _listed(client.ListRuns(ListRunsRequest(**which)))

        try:
            answer = client.ListNodes(ListNodesRequest())
            runs = self.runs.read(lambda limit, skip: listed(limit=limit, skip=skip), lambda number: listed(run_id=number))
        finally:
            client.close()
        return [(str(node.node_id), node.status) for node in answer.nodes_info], of_runs(runs, seconds(answer.now))

    def certificates(self, gateway: str) -> list[Sample]:
        """Ends of the certificates that the gateway serves now, and of the internal CA.

        The port has the certificate for sites as well, by its name, so nothing has to be read from a Secret.

        Args:
            gateway: name of the certificate for sites; empty without TLS.
        """
        host, _colon, port = self.address.rpartition(":")
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # its dates are the question, even of one that has expired
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        pems = {"internal-ca": (self.folder / "ca.crt").read_text()}
        for name, wanted in (("internal", host), ("gateway", gateway)):
            if wanted:
                with (
                    socket.create_connection((host, int(port)), timeout=time_left(self.end)) as plain,
                    unverified.wrap_socket(plain, server_hostname=wanted) as secure,
                ):
                    pems[name] = ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True) or b"")
        if gateway and pems["gateway"] == pems["internal"]:
            raise ValueError(f"the gateway has no certificate for {gateway}")
        return of_certificates(pems)

    def traffic(self, sites: Iterable[str]) -> list[Sample]:
        """What the gateway counted by client certificate; nothing where it requests none.

        Args:
            sites: those of the ledger.
        """
        trust = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        host, _colon, port = self.address.rpartition(":")
        connection = http.client.HTTPSConnection(host, int(port), timeout=time_left(self.end), context=trust)
        headers = {HEADER: (self.folder / "token").read_text().strip()}
        counted = {}
        try:
            for site in sites:
                time_left(self.end)
                connection.request("GET", TRAFFIC + urllib.parse.quote(site), headers=headers)
                answer = connection.getresponse()
                text = answer.read().decode()
                if answer.status != 200:
                    return []
                counted[site] = text
        finally:
            connection.close()
        return of_traffic(counted)


def _listed(answer: Any) -> list[Run]:
    """The runs of an answer, the newest first."""
    found = [
        {
            "run_id": run.run_id,
            "status": run.status.status,
            "sub_status": run.status.sub_status,
            **{name: getattr(run, name) for name in ("pending_at", "starting_at", "running_at", "finished_at")},
        }
        for run in answer.run_dict.values()
    ]
    return sorted(found, key=lambda run: str(run["pending_at"]), reverse=True)


class Exporter:
    """All metrics, read when they are asked for.

    Args:
        hub: the gateway's port.
        records: records of the federation.
        gateway: as in C(Hub.certificates).
        clock: seconds that only grow.
    """

    def __init__(self, hub: Hub, records: Records, gateway: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.hub, self.records, self.gateway, self.clock = hub, records, gateway, clock
        self.errors = dict.fromkeys((*SOURCES, RUN_LOGS), 0)
        self.kept: list[Sample] = []
        self.until = 0.0
        self.lock = threading.Lock()

    def samples(self) -> list[Sample]:
        """All values, at most C(SECONDS) old."""
        with self.lock:
            if self.clock() >= self.until:
                self.kept = self._read()
                self.until = self.clock() + SECONDS
            return self.kept

    def _read(self) -> list[Sample]:
        up: dict[str, float] = {}

        def attempt(source: str, read: Callable[[], Any]) -> Any:
            try:
                found = read()
            except Exception as error:  # of any library: it is counted and logged, and the source is down
                self.errors[source] += 1
                print(f"{source}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                up[source] = 0.0
                return None
            up.setdefault(source, 1.0)
            return found

        self.hub.end = self.records.end = time.monotonic() + BUDGET
        sites = attempt(KUBERNETES, self.records.sites)
        found: list[Sample] = []
        if sites is not None:
            found += attempt(KUBERNETES, lambda: self.records.samples(sites)) or []
        if (asked := attempt(SUPERLINK, self.hub.ask)) is not None:
            found += [*of_nodes(asked[0], sites), *asked[1]]
            found += of_differences(asked[0], sites, self.records.unreadable) if sites is not None else []
            if (logs := self.hub.logs) is not None:
                found += attempt(RUN_LOGS, lambda: logs.samples(self.hub.runs.known.values())) or []
                attempt(RUN_LOGS, logs.check)
        found += attempt(GATEWAY, lambda: self.hub.certificates(self.gateway)) or []
        found += attempt(GATEWAY, lambda: self.hub.traffic(sites)) or [] if sites and self.gateway else []
        for source, is_up in up.items():
            found.append(Sample("flower_exporter_source_up", {"source": source}, is_up))
            found.append(Sample("flower_exporter_errors_total", {"source": source}, float(self.errors[source])))
        return found


def main() -> None:
    """Serve until the pod ends."""
    env = os.environ
    records = Records(env["FLOWER_NAMESPACE"], env["FLOWER_FEDERATION"], Path("/api"))
    sys.path.append(str(Path(__file__).parent))
    http_server = importlib.import_module("metrics_http")
    progress = importlib.import_module("run_metrics").Progress if env.get("FLOWER_RUN_METRICS") else None
    exporter = Exporter(Hub(env["FLOWER_CONTROL"], Path("/hub"), progress), records, env["FLOWER_GATEWAY_NAME"])
    # As PID 1 it gets no signal that it does not wait for. Threads that are started later have the same mask.
    stop = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    server = http_server.Server(int(env["FLOWER_PORT"]), lambda: http_server.text_format(METRICS, exporter.samples()))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.sigwait(stop)


if __name__ == "__main__":
    main()
