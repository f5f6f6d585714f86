# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data that others wrote, in forms that nobody would write by mistake: each reader refuses it with its own error, and at once."""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.action import bundle_reply
from ansible_collections.federated.flower.plugins.plugin_utils.actions import cluster_action
from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    archive,
    hub_archive,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.archive import About
from ansible_collections.federated.flower.plugins.plugin_utils.base import foreign_data
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import CLIENT_KEY
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcome
from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod
from ansible_collections.federated.flower.plugins.plugin_utils.flower.app import read_bundle, read_project
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.following import Following
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_list import parse_contents
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden, Unreachable, status_of
from ansible_collections.federated.flower.plugins.plugin_utils.programs import run_metrics
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import public, reply, reported
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import StepResult, unexpected
from ansible_collections.federated.flower.plugins.plugin_utils.state import audit_report, hash_chain
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Trail
from ansible_collections.federated.flower.tests.unit import strange_crypto
from ansible_collections.federated.flower.tests.unit.rows import each_row


def short(value: Any) -> str:
    """The name of a case."""
    return str(value[:20] if isinstance(value, (str, bytes)) else value)[:40]


DEEP = {"lists": "[" * 100_000, "objects": '{"a":' * 100_000, "closed": "[" * 300 + "]" * 300, "mixed": '[{"a":' * 150 + "1" + "}]" * 150}
FORGED = {
    **DEEP,
    "cut off": '{"a": ',
    "not a number": "NaN",
    "a number that Python refuses": "1" * 5000,
    "infinite": '{"entries": 1e999, "hash": ""}',
    "other bytes": "\ufffe",
    "null": "null",
    "a list": "[]",
    "entries of other forms": '{"entries": [], "hash": {}}',
}

# ---- JSON ------------------------------------------------------------------------------------------------------------


@each_row("text", DEEP.values())
def test_deep_json_is_refused(text: str) -> None:
    for data in (text, text.encode()):
        with pytest.raises(ValueError, match="nested"):
            foreign_data.read_json(data)


def test_what_is_not_deep_is_read() -> None:
    for text in ('{"a": [1, {"b": null}]}', "[" * 200 + "]" * 200, json.dumps(["[{" * 1000] * 3), "[" + "[]," * 10_000 + "[]]", '"x"', "5", "null"):
        assert foreign_data.read_json(text) == foreign_data.read_json(text.encode()) == json.loads(text)


@each_row(
    ("piece", "count"), [(b" ", foreign_data.MOST + 1), (b"0,", foreign_data.MOST // 4), (b"[],", foreign_data.MOST // 4), (b"{", 2**22)]
)
def test_large_json_is_refused_before_it_is_parsed(piece: bytes, count: int) -> None:
    data = b"[" + piece * count + b"0]"
    begun = time.process_time()
    with pytest.raises(foreign_data.LimitExceeded):
        foreign_data.read_json(data)
    assert time.process_time() - begun < 5


# ---- text ------------------------------------------------------------------------------------------------------------

SCREEN = "\x1b]52;c;Zm9v\x07\x1b[2J\x1b[1;1HPLAY RECAP ok=99\r\x9b2J\u202egnp.exe\u2066\u200f\u061c\x00\ud800"


def is_clean(text: str) -> bool:
    return foreign_data.CONTROL.search(text) is None


def test_text_of_others_is_cleaned() -> None:
    assert foreign_data.cleaned("a\tb\n c") == "a b c"
    assert foreign_data.cleaned("Zürich 東京 🌷 a-b") == "Zürich 東京 🌷 a-b"
    assert foreign_data.without_controls("a\n\tb") == "a\n\tb"
    assert is_clean(foreign_data.cleaned(SCREEN)) and is_clean(foreign_data.without_controls(SCREEN))
    assert len(foreign_data.cleaned("x " * 100_000)) <= 2000 and len(foreign_data.without_controls("x" * 10**7)) <= 100_000


@each_row("body", [{"message": SCREEN * 1000, "reason": SCREEN}, {"message": [SCREEN], "details": [1]}, {"details": "x", "reason": 5}])
def test_errors_of_api_servers_are_cleaned(body: dict[str, Any]) -> None:
    error = Forbidden("site-b", "GET /api", 403, status_of(json.dumps(body).encode()))
    for text in (str(error), error.message, error.text, error.reason):
        assert is_clean(text) and "\n" not in text and len(text) < 3000
    assert isinstance(error.details, dict)
    assert is_clean(Forbidden("site-b", "GET /api", 403, body).message)


@each_row("data", [SCREEN.encode("utf-8", "replace") * 50, b"\xff\x9b\x1b" * 1000, b"<html>\x1b[2J", b"[" * 10**5, b"", b"\x1f"])
def test_answers_that_are_no_status_are_cleaned(data: bytes) -> None:
    text = status_of(data)["message"]
    assert is_clean(text) and len(text) <= 300


def test_messages_and_warnings_are_cleaned_wherever_they_come_from() -> None:
    assert is_clean(ClusterError(f"first\n{SCREEN}").message) and is_clean(str(ClusterError(SCREEN)))
    assert is_clean(unexpected(ValueError(SCREEN)))
    outcome = Outcome(msg=SCREEN)
    outcome.add(StepResult(warnings=[SCREEN]))
    for shown in (outcome.as_dict(), cluster_action._shown({"msg": SCREEN, "warnings": [SCREEN]})):
        assert is_clean(shown["msg"]) and all(map(is_clean, shown["warnings"]))
    assert all(map(is_clean, cluster_action._shown({"msg": ["first", SCREEN]})["msg"]))
    assert cluster_action._shown({"sites": ["site-a"], "changed": True}) == {"sites": ["site-a"], "changed": True}
    failed = SimpleNamespace(rc=1, stderr=f"Traceback\n{SCREEN}\nPLAY RECAP\n".encode("utf-8", "replace"))
    cluster: Any = SimpleNamespace(exec=lambda *_place, **_more: failed)
    _rc, errors = in_pod.send(cluster, "flower", "superlink-0", "superlink", in_pod, {}, bytes, seconds=1)
    assert is_clean(errors) and "\n" not in errors


# ---- the audit trail -------------------------------------------------------------------------------------------------


@each_row("text", FORGED.values())
def test_the_audit_trail(text: str) -> None:
    lines, head = hash_chain.read_export(["{}", text], "audit.jsonl")
    assert head is None and len(lines) == 2
    assert hash_chain.parse(text) is None
    assert Trail._head({"data": {"head.json": text}}) == (None, 0)
    assert audit_report.leaving_error(text, [], "flower") == "it is not a leaving record"


# ---- archives --------------------------------------------------------------------------------------------------------

ABOUT = About("heart", "hub-1", "20261101T000000Z", "1.0.0", "1.41.0")
OWNER = pyrage.x25519.Identity.generate()


def tar(path: Path, **members: bytes) -> Path:
    with tarfile.open(path, "w") as made:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_the_head_of_an_archive(text: str, tmp_path: Path) -> None:
    path = tar(tmp_path / ABOUT.file_name, **{archive.ABOUT: text.encode(), archive.PAYLOAD: b"x"})
    with pytest.raises(ClusterError, match=ABOUT.file_name):
        archive.head(path)
    assert archive.surplus(tmp_path, ABOUT, 1) == [], "it stops no backup"


@pytest.mark.parametrize("data", [*(text.encode() for text in FORGED.values()), b"\xff\xfe\xfd", b"\x80" * 100], ids=short)
def test_the_manifest_and_the_objects_of_an_archive(data: bytes, tmp_path: Path) -> None:
    inner = tar(tmp_path / "inner.tar", **{archive.MANIFEST: data}).read_bytes()
    members = {archive.ABOUT: json.dumps(ABOUT.as_data()).encode(), archive.PAYLOAD: pyrage.encrypt(inner, [OWNER.to_public()])}
    with pytest.raises(ClusterError, match="Choose another"):
        archive.read(tar(tmp_path / "forged.tar", **members), OWNER)
    members_of = [archive.member_of(hub_archive.HUB, data), archive.member_of(hub_archive.DATABASE, b"abc")]
    path = archive.write(tmp_path, ABOUT, members_of, [OWNER.to_public()])
    with pytest.raises(ClusterError, match="Choose another"):
        hub_archive.proven(path, OWNER)


# ---- apps ------------------------------------------------------------------------------------------------------------


def zipped(path: Path, kind: int = zipfile.ZIP_DEFLATED, **files: bytes) -> bytearray:
    with zipfile.ZipFile(path, "w", kind) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return bytearray(path.read_bytes())


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_STORED])
def test_bundles_of_apps(kind: int, tmp_path: Path) -> None:
    path = tmp_path / "app.fab"
    good = zipped(path, kind, **{"pyproject.toml": b"[project]\n" * 50, "a.py": os.urandom(500)})
    for at in range(0, len(good), 7):
        for damaged in (good[:at], good[:at] + b"\xff" + good[at + 1 :], good[:at] + b"\xff\xff\xff\xff" + good[at + 4 :]):
            path.write_bytes(damaged)
            try:
                read_bundle(path)
            except FlowerError as error:
                assert "app.fab" in error.message or "damaged" in error.message


@pytest.mark.parametrize("data", [b"a = " + b"[" * 100_000, b"\xff", b"a = 1\na = 2"], ids=short)
def test_projects_of_apps(data: bytes, tmp_path: Path) -> None:
    zipped(tmp_path / "app.fab", **{"pyproject.toml": data})
    files = read_bundle(tmp_path / "app.fab")
    with pytest.raises(FlowerError, match=r"pyproject\.toml"):
        read_project(tmp_path, files)


# ---- answers of programs in pods -------------------------------------------------------------------------------------

SHAPES: list[Any] = [{}, {"file": 5}, {"file": ["a"]}, {"file": ["a", 1, 1]}, {"file": ["a", 1, 1, "", 1]}, {"file": {"a": 1}}, {"file": ["a", 1, 1e999, ""]}]


SHAPES += [{"file": [["a"], 1, 1, ""]}, {"file": ["a", True, 1, ""]}, {"left_out": 7}, {"left_out": ["a"]}, {"left_out": None}]


@each_row("answer", SHAPES)
def test_lists_of_outputs(answer: Any) -> None:
    head = {"room": {"size": 1, "free": 1}}
    assert parse_contents([head], "hub").files == {}
    for answers in ([head, answer], [answer], []):
        with pytest.raises(FlowerError, match="reader of outputs on hub"):
            parse_contents(answers, "hub")


@pytest.mark.parametrize("answers", [[], [{}], [{"room": 5}], [{"room": {"size": "x", "free": 1}}], [{"room": {"size": 1e999, "free": 1}}]])
def test_answers_about_outputs(answers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(SimpleNamespace(cluster=SimpleNamespace(name="hub"), namespace="flower"))  # type: ignore[arg-type]
    monkeypatch.setattr(reader, "ask", lambda *_request, **_options: answers)
    for ask in (reader.room, reader.list, lambda: reader.use("7")):
        with pytest.raises(FlowerError, match="reader of outputs on hub"):
            ask()
    if answers:
        with pytest.raises(FlowerError, match="reader of outputs on hub"):
            reader.delete(["7"])


@each_row("text", FORGED.values())
def test_answers_that_are_none(text: str) -> None:
    output = in_pod.Output([text], 0, "", "hub: pod flower/superlink-0 (superlink)")
    if text not in (FORGED["infinite"], FORGED["entries of other forms"]):
        with pytest.raises(ClusterError, match="^hub: pod flower/superlink-0"):
            output.object()
    with pytest.raises(ClusterError, match="or an unexpected number of answers"):
        in_pod.Output(["{}", "{}"], 0, "", "hub").object()


@each_row(
    "line",
    [
        *FORGED.values(), '{"at": 1}', '{"at": "x", "left_out": 0, "lines": []}', '{"at": 1e999, "left_out": 0, "lines": []}',
        '{"at": 0, "left_out": 0, "lines": 5}',
        *(f'{{"at": 0, "left_out": 0, "lines": [], "run": {run}}}' for run in (
            5, "{}", '{"out": {"success": true, "runs": [5]}}', '{"out": {"success": true, "runs": {"a": 1}}}',
            '{"rc": 0, "out": {"success": true, "runs": [{"run-id": "5", "status": "running"}]}}, "nodes": 5',
            '{"rc": 0, "out": {"success": true, "runs": [{"run-id": "5", "status": "running"}]}}, "runs": [5]',
        )),
    ],
)  # fmt: skip
def test_reports_on_a_run(line: str) -> None:
    watch = SimpleNamespace(log=lambda *_words: None, report=lambda _report: None, trouble=lambda _text: None)
    following = Following(FlowerCLI(SimpleNamespace(name="hub"), "flower"), "5", watch)  # type: ignore[arg-type]
    try:
        following._receive(line)
    except Unreachable:
        return
    assert following.trouble


# ---- keys of sites ---------------------------------------------------------------------------------------------------


@each_row("text", FORGED.values())
def test_what_a_site_publishes(text: str) -> None:
    there = {"metadata": {"namespace": "flower", "ownerReferences": [{"kind": "Secret", "name": "x"}]}, "data": {public.ENTRY: text}}
    with pytest.raises(ClusterError, match="was not written by the site's Job"):
        public.read(there)
    for entry in (public.ENTRY, reply.ENTRY):
        data = {public.ENTRY: "{}", reply.ENTRY: "{}", entry: text}
        with pytest.raises(ClusterError, match="not a reply"):
            reply.opened({"kind": "ConfigMap", "metadata": {"name": "supernode-public"}, "data": data})


def test_a_request_with_an_unknown_kind_of_key() -> None:
    text = json.dumps({"pools": {}, "client": {"name": "x", "request": strange_crypto.request()}})
    there = {"metadata": {"namespace": "flower", "ownerReferences": [{"kind": "Secret", "name": CLIENT_KEY}]}, "data": {public.ENTRY: text}}
    with pytest.raises(ClusterError, match="ConfigMap supernode-public in namespace flower .* delete it and run again"):
        reported.read(there)
    binding = {"federation": "flower", "site": "site-a", "hub": "h", "nonce": "n", "version": 1}
    sealed = json.dumps({"binding": binding, "trust": "", "signatures": {}})
    sent = {"kind": "ConfigMap", "metadata": {"name": "supernode-public"}, "data": {public.ENTRY: text, reply.ENTRY: sealed}}
    with pytest.raises(ClusterError, match="let the site send the file again"):
        reported.opened(sent)


def nested(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text", [nested(8), f"kind: ConfigMap\n{nested(8)}", "a: &a [*a]", "kind: ConfigMap", '{"a": &x 1, "b": *x}', *DEEP.values(), "\x00", "{'a': 1}"],
    ids=short,
)
def test_a_file_that_is_no_reply(text: str, tmp_path: Path) -> None:
    path = tmp_path / "reply.json"
    path.write_text(text)
    begun = time.process_time()
    with pytest.raises(ClusterError, match="-o json"):
        bundle_reply.ActionModule._read(path)
    assert time.process_time() - begun < 5


def test_a_file_that_is_too_large_for_a_reply(tmp_path: Path) -> None:
    path = tmp_path / "reply.json"
    path.write_bytes(b" " * (5 * 1024 * 1024))
    with pytest.raises(ClusterError, match="exceeds the maximum size of a reply"):
        bundle_reply.ActionModule._read(path)


@each_row(
    "change",
    [
        lambda sent: sent["metadata"].update(ownerReferences=[{"kind": ["Secret"], "name": "x"}]),
        lambda sent: sent["metadata"].update(ownerReferences=[{"kind": "Secret", "name": {"x": [["y"] * 10] * 10}}]),
        lambda sent: sent["metadata"].update(namespace=["flower"]),
        lambda sent: sent["data"].update({public.ENTRY: {"pools": {}}}),
        lambda sent: sent["data"].update({reply.ENTRY: sent["data"][reply.ENTRY].replace('"trust": ""', '"trust": ["a"]')}),
    ],
)
def test_text_of_a_reply_has_to_be_text(change: Callable[[dict[str, Any]], None]) -> None:
    binding = {"federation": "flower", "site": "site-a", "hub": "h", "nonce": "n", "version": 1}
    sealed = json.dumps({"binding": binding, "trust": "", "signatures": {}})
    sent: dict[str, Any] = {"kind": "ConfigMap", "metadata": {"name": "supernode-public"}, "data": {public.ENTRY: '{"pools": {}}', reply.ENTRY: sealed}}
    with pytest.raises(ClusterError, match="has no keys"):
        reply.opened(sent)
    change(sent)
    with pytest.raises(ClusterError, match="not a reply"):
        reply.opened(sent)


# ---- logs ------------------------------------------------------------------------------------------------------------


def cost(line: str) -> float:
    """Seconds of CPU for a line that comes five times."""
    begun = time.process_time()
    for _line in range(5):
        progress = run_metrics.Progress()
        progress.feed(f"{line}\n")
        progress.round(), progress.values()
        run_metrics.last_metrics([line])
    return time.process_time() - begun


@each_row(
    "line",
    [
        "MetricRecord: {" * 1300, "Aggregated MetricRecord: {" * 700, "Initial global evaluation results: {" * 500,
        "MetricRecord: {" * 1300 + "}", "MetricRecord: {" + "x" * 19_000,
        "[ROUND 1/" * 2000, "[ROUND 1/" + "1" * 19_000, "\x1b[" * 9000, "\x1b[" + "0" * 19_000,
        "MetricRecord: {" + "-" * 18_000 + "1}", "MetricRecord: {'a': " + "[" * 9000 + "]" * 9000 + "}",
        "MetricRecord: {" + "'a': -inf, " * 1500 + "}",
    ],
)  # fmt: skip
def test_a_line_of_a_log_costs_little(line: str) -> None:
    assert len(line) <= 20_000
    assert cost(line) < 1


@each_row("beginning", ["MetricRecord: {", "Aggregated MetricRecord: {", "Initial global evaluation results: {"])
def test_a_beginning_that_an_app_repeats_costs_no_more_than_other_text(beginning: str) -> None:
    """Where each beginning is searched to the end of the line, it is six to twenty times as much."""
    hostile, other = (beginning * 2000)[:20_000], "x" * 20_000
    assert min(cost(hostile) for _again in range(3)) < 4 * min(cost(other) for _again in range(3))
