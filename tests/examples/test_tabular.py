# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The example app: its tables and files, and whole runs in this process."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

APP = Path(__file__).parents[2] / "examples/tabular"


@pytest.fixture(autouse=True)
def _app(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The app's folder is in the path, as Flower has it."""
    monkeypatch.syspath_prepend(str(APP))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "tabular"]:
        del sys.modules[name]


LABELS = [1] * 200 + [0] * 300


def test_each_row_goes_to_one_site_or_is_held_out() -> None:
    from tabular import table

    for sites in (1, 2, 3, 7):
        parts, held_out = table.split(LABELS, sites)
        assert len(parts) == sites and all(parts)
        assert sorted([row for part in parts for row in part] + held_out) == list(range(len(LABELS)))


def test_sites_differ_and_the_rows_held_out_do_not() -> None:
    from tabular import table

    parts, held_out = table.split(LABELS, 3)
    shares = [sum(LABELS[row] for row in part) / len(part) for part in parts]
    assert shares == sorted(shares) and shares[0] < 0.25 and shares[2] > 0.6
    assert sum(LABELS[row] for row in held_out) / len(held_out) == pytest.approx(0.4)


def test_the_rows_held_out_do_not_depend_on_the_sites() -> None:
    from tabular import table

    assert {tuple(table.split(LABELS, sites)[1]) for sites in range(1, 9)} == {tuple(table.split(LABELS, 2)[1])}


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    from tabular import table

    rows = table.Rows(numpy.random.default_rng(1).normal(size=(7, 2)), numpy.array([0, 1, 1, 0, 1, 0, 0]))
    table.write(tmp_path / table.FILE, ["x", "y"], rows)
    got = table.read(tmp_path / table.FILE)
    assert (got.features == rows.features).all() and (got.labels == rows.labels).all()
    shares = [table.read(tmp_path / table.FILE, part, 3) for part in range(3)]
    assert [len(share.labels) for share in shares] == [3, 2, 2]
    assert (shares[1].features == rows.features[1::3]).all()


def test_a_table_without_labels_is_refused(tmp_path: Path) -> None:
    from tabular import table

    with (tmp_path / "x.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["x", "y"], [1, 2]])
    with pytest.raises(ValueError, match="its last column is not 'malignant'"):
        table.read(tmp_path / "x.csv")


def model(value: float) -> list[Any]:
    """A model of equal numbers."""
    return [numpy.full((1, 30), value), numpy.full(1, value)]


def test_checkpoints_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = model(0.1)
    from tabular import checkpoints

    checkpoints.save_round(tmp_path, checkpoints.Checkpoint(written, 12))
    got = checkpoints.load(checkpoints.newest(tmp_path))
    assert got.round == 12 and all((one == other).all() for one, other in zip(got.arrays, written))
    assert [path.name for path in tmp_path.iterdir()] == ["round-0012.npz"]


def test_the_newest_checkpoint_is_taken(tmp_path: Path) -> None:
    arrays = model(0.0)
    from tabular import checkpoints

    for number in (9, 10, 2):
        checkpoints.save_round(tmp_path / "7/checkpoints", checkpoints.Checkpoint(arrays, number))
    (tmp_path / "7/checkpoints/.round-0011.npz.part").write_bytes(b"half")
    got = [checkpoints.start(tmp_path, "7", ""), checkpoints.start(tmp_path, "", "7/checkpoints")]
    assert [one and one.round for one in got] == [10, 10]
    one = checkpoints.start(tmp_path, "", "7/checkpoints/round-0002.npz")
    assert one and one.round == 2
    assert checkpoints.start(tmp_path, "", "") is None


def test_checkpoints_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    from tabular import checkpoints

    for run, number in ((7, 5), (8, 5)):
        checkpoints.save_round(tmp_path / f"inputs/abc/{run}/checkpoints", checkpoints.Checkpoint(model(run), number))
    with pytest.raises(ValueError, match=r"several folders \(7/checkpoints, 8/checkpoints\); choose one"):
        checkpoints.start(tmp_path, "", "inputs/abc")
    one = checkpoints.start(tmp_path, "", "inputs/abc/8")
    assert one and one.arrays[0][0][0] == 8


@pytest.mark.parametrize(
    "resume_run, inputs, fault",
    [
        ("1", "x", "both set"),
        ("../1", "", "not the id of a run"),
        ("", "../x.npz", "not below FLOWER_OUTPUTS_DIR"),
        ("", "/etc/passwd", "not below FLOWER_OUTPUTS_DIR"),
        ("1", "", "has no checkpoint"),
        ("2", "", "No such file"),
    ],
)
def test_a_start_that_is_not_possible(tmp_path: Path, resume_run: str, inputs: str, fault: str) -> None:
    from tabular import checkpoints

    (tmp_path / "1").mkdir()
    with pytest.raises((ValueError, FileNotFoundError), match=fault):
        checkpoints.start(tmp_path, resume_run, inputs)


def test_a_start_without_outputs() -> None:
    from tabular import checkpoints

    with pytest.raises(ValueError, match="keeps no outputs"):
        checkpoints.start(None, "1", "")


def test_pickles_are_not_read(tmp_path: Path) -> None:
    from tabular import checkpoints

    hostile = numpy.array([{"x": 1}], dtype=object)
    numpy.savez(tmp_path / "x.npz", coefficients=hostile, intercept=hostile)
    with pytest.raises(ValueError, match="allow_pickle"):
        checkpoints.load(tmp_path / "x.npz")


# Whole runs.


class Nodes:
    """Flower's Grid, in front of the app's own ClientApp: every SuperNode is in this process.

    It keeps what the ServerApp was sent. C(killed_in) ends the ServerApp when it asks for training in that round.
    """

    def __init__(self, run_config: dict[str, Any], tables: dict[int, Path], patch: pytest.MonkeyPatch) -> None:
        self.run_config = run_config
        self.tables = tables
        self.patch = patch
        self.contexts: dict[int, Any] = {}
        self.seen: list[Any] = []
        self.killed_in = 0
        self.lost: set[int] = set()
        self.failing: dict[int, int] = {}  # SuperNode -> code of its error

    def get_node_ids(self) -> list[int]:
        return list(self.tables)

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Any]:
        import copy

        from flwr.app import Context, Error, Message, RecordDict
        from tabular import client_app

        replies = []
        for message in list(messages)[::-1]:  # answers come in any order
            node = message.metadata.dst_node_id
            if node in self.lost:
                continue
            content = copy.deepcopy(message.content)
            if self.killed_in and content.get("config", {}).get("server-round") == self.killed_in:
                raise KeyboardInterrupt
            self.patch.setenv("FLOWER_DATASET_BIOPSIES", str(self.tables[node].parent))
            context = self.contexts.setdefault(
                node,
                Context(1, node, {"site": f"site-{node}", "part": 0, "parts": 1}, RecordDict(), self.run_config, 1),
            )
            asked = copy.deepcopy(message)
            asked.content = content
            asked.metadata._message_id = "x"  # the SuperLink gives messages their ids
            if node in self.failing:
                reply = Message(Error(self.failing[node], "no table"), reply_to=asked)
            else:
                reply = client_app.app(asked, context)
            # the SuperLink answers for a SuperNode that is not there, in its own name
            reply.metadata._src_node_id = 1 if self.failing.get(node) == AWAY else node
            if not reply.has_error():
                self.seen.append(copy.deepcopy(reply.content))
            replies.append(reply)
        return replies


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start a run, and return what it left: C(folder), C(nodes), C(metrics)."""
    import json

    import tomllib
    from flwr.app import Context, RecordDict
    from flwr.supercore.task_identity import TaskIdentity
    from tabular import checkpoints, server_app, table

    defaults = tomllib.loads((APP / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    whole, names = table.whole()
    parts, _held_out = table.split(whole.labels.tolist(), 3)
    tables = {2**63 + 11 * site: tmp_path / str(site) / table.FILE for site in range(3)}
    for path, rows in zip(tables.values(), parts):
        path.parent.mkdir()
        table.write(path, names, table.Rows(whole.features[rows], whole.labels[rows]))
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for name in ("_task_id", "_run_id", "_node_id"):  # what Flower's own processes set before they call an app
        monkeypatch.setattr(TaskIdentity, name, 1)
    monkeypatch.setenv("FLOWER_OUTPUTS_DIR", str(outputs))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)

    def run(
        run_id: int, *, killed_in: int = 0, lost: int = 0, failing: dict[int, int] | None = None, **config: Any
    ) -> SimpleNamespace:
        wanted = {**defaults, "min-nodes": 3, **{name.replace("_", "-"): value for name, value in config.items()}}
        nodes = Nodes(wanted, tables, monkeypatch)
        nodes.killed_in = killed_in
        nodes.lost = set(list(tables)[:lost])
        nodes.failing = failing or {}
        context = Context(run_id, 0, {}, RecordDict(), wanted, 1)
        try:
            server_app.app(nodes, context)
        except KeyboardInterrupt:
            assert killed_in
        folder = outputs / str(run_id)
        metrics = json.loads((folder / "metrics.json").read_text())
        path = folder / checkpoints.MODEL
        arrays = checkpoints.load(path).arrays if path.exists() else None
        return SimpleNamespace(folder=folder, nodes=nodes, metrics=metrics, arrays=arrays)

    return run


def test_a_site_without_rows_to_measure_with_is_named() -> None:
    from tabular import server_app

    def reply(site: str, accuracy: float, rows: int) -> Any:
        return SimpleNamespace(has_error=lambda: False, content={"who": {"site": site}, "metrics": {"accuracy": accuracy, "num-examples": rows}})

    replies = [reply("b", float("nan"), 0), reply("a", 0.5, 10), reply("a", float("nan"), 0)]
    assert server_app.by_site(replies) == "a 0.5000 (10 rows), b not measured (0 rows)"


def test_a_run_learns(study: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = study(1)
    assert done.metrics["5"]["accuracy"] > 0.93 and done.metrics["5"]["loss"] < done.metrics["1"]["loss"]
    assert sorted(path.name for path in (done.folder / "checkpoints").iterdir()) == [
        f"round-000{n}.npz" for n in range(1, 6)
    ]
    said = capsys.readouterr().out
    assert f"round 5: accuracy {done.metrics['5']['accuracy']:.4f}" in said and f"; site-{2**63} 0." in said


def test_the_model_scores_what_the_run_said(study: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = study(1)
    capsys.readouterr()
    import runpy

    score = runpy.run_path(str(APP / "score.py"))
    assert score["main"](done.folder) == 0
    assert (
        f"accuracy {done.metrics['5']['accuracy']:.4f}, loss {done.metrics['5']['loss']:.4f}" in capsys.readouterr().out
    )
    (done.folder / "metrics.json").write_text('{"5": {"accuracy": 0.5}}')
    assert score["main"](done.folder) == 1


def test_the_score_needs_no_flower(study: Any) -> None:
    folder = study(1, num_server_rounds=1).folder
    program = (
        "import runpy, sys; sys.argv = sys.argv[1:]; sys.modules['flwr'] = None; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, str(APP / "score.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": str(APP)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 and "the same" in done.stdout, done.stderr


def test_a_run_that_was_killed_and_resumed_ends_as_one_that_was_not(study: Any) -> None:
    whole = study(1, num_server_rounds=6)
    killed = study(2, num_server_rounds=6, killed_in=4)
    assert sorted(killed.metrics) == ["1", "2", "3"] and killed.arrays is None
    resumed = study(3, num_server_rounds=6, resume_run="2")
    assert sorted(resumed.metrics) == ["4", "5", "6"]
    by_path = study(4, num_server_rounds=6, inputs="2/checkpoints/round-0003.npz")
    for run in (resumed, by_path):
        assert run.metrics["6"] == whole.metrics["6"]
        assert all((one == other).all() for one, other in zip(run.arrays, whole.arrays))


def test_nothing_is_left_to_train(study: Any) -> None:
    study(1)
    with pytest.raises(ValueError, match="checkpoint is that of round 5, and num-server-rounds is 5"):
        study(2, resume_run="1")


def test_a_model_to_start_from(study: Any) -> None:
    done = study(1)
    again = study(2, inputs="1/model.npz")
    assert sorted(again.metrics) == ["1", "2", "3", "4", "5"] and again.metrics["1"]["loss"] < done.metrics["1"]["loss"]


def test_with_differential_privacy_a_supernode_tells_no_metrics_when_it_is_asked(study: Any) -> None:
    nodes = study(1, num_server_rounds=1, dp=True).nodes
    from flwr.app import ArrayRecord, Message, MessageType, RecordDict

    content = RecordDict({"arrays": ArrayRecord(model(0.1))})
    node = nodes.get_node_ids()[0]
    (reply,) = nodes.send_and_receive([Message(content, node, MessageType.EVALUATE)])
    assert reply.has_error() and "differential privacy" in reply.error.reason
    nodes.contexts[node].run_config["dp"] = False
    (reply,) = nodes.send_and_receive([Message(content, node, MessageType.EVALUATE)])
    assert "accuracy" in reply.content["metrics"]


# Flower's codes for an app that raised an exception, a SuperNode that is not there, an app that was killed
BROKEN, AWAY, CRASHED = 2, 5, 8


def test_a_run_ends_when_the_app_fails_at_a_site(study: Any) -> None:
    for config in ({}, {"secagg": True}):
        with pytest.raises(RuntimeError, match=f"SuperNode {2**63} failed: no table"):
            study(1, failing={2**63: BROKEN}, **config)


def test_a_supernode_that_takes_no_part_is_told(study: Any, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = 2**63, 2**63 + 11
    assert study(1, failing={one: AWAY, other: CRASHED}, num_server_rounds=1).metrics
    said = capsys.readouterr().out
    for line in (f"SuperNode {one} takes no part: no answer\n", f"SuperNode {other} takes no part: no table\n"):
        assert said.count(line) == 2  # training, evaluation
    assert study(2, lost=1, num_server_rounds=1).metrics
    assert f"SuperNode {one} takes no part: no answer\n" in capsys.readouterr().out


def test_a_store_that_the_image_has_no_package_for_does_not_fail_the_run(
    study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import mlflow
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlflow").as_uri())
    experiment = mlflow.create_experiment("tabular", artifact_location="s3://models/x")
    done = study(1, num_server_rounds=1)
    assert done.metrics and done.arrays
    said = capsys.readouterr().out
    assert "tracking: the model is not logged, because the image lacks a package" in said and "boto3" in said
    (run,) = mlflow.MlflowClient().search_runs([experiment])
    assert run.info.status == "FINISHED" and run.data.metrics["accuracy"] == done.metrics["1"]["accuracy"]


def numbers(content: Any) -> list[Any]:
    """All arrays of numbers in what a SuperNode sent, masked ones included."""
    from flwr.common import bytes_to_ndarray

    found = [array for record in content.array_records.values() for array in record.to_numpy_ndarrays()]
    for record in content.config_records.values():
        found += [bytes_to_ndarray(one) for one in record.get("masked_params", [])]
    return [numpy.asarray(one, dtype=float).ravel() for one in found]


def test_with_secure_aggregation_the_serverapp_sees_no_model_of_a_supernode(study: Any) -> None:
    plain = study(1, num_server_rounds=1)
    models = [arrays for arrays in map(numbers, plain.nodes.seen) if arrays]
    assert len(models) == 3 and all(len(model[0]) == 30 for model in models)
    secret = study(2, num_server_rounds=1, secagg=True)
    # the same model, but for what is lost by rounding
    for one, other in zip(secret.arrays, plain.arrays):
        assert numpy.abs(one - other).max() < 1e-3
    seen = [array for content in secret.nodes.seen for array in numbers(content) if len(array) == 30]
    assert len(seen) == 3  # the masked ones
    for array in seen:
        # Unmasked, the numbers of a model lie within one part in a thousand of the range; masked, they are spread over all of it.
        assert array.std() > 2**32 / 8
        for model in models:
            assert abs(numpy.corrcoef(array, model[0])[0, 1]) < 0.8


@pytest.mark.parametrize(
    "name, limit, fault", [("MAX_NUMBER", 1e-3, "larger numbers"), ("MAX_ROWS", 10.0, "rows are more")]
)
def test_secure_aggregation_cuts_nothing_off(
    study: Any, monkeypatch: pytest.MonkeyPatch, name: str, limit: float, fault: str
) -> None:
    from tabular import privacy

    monkeypatch.setattr(privacy, name, limit)
    with pytest.raises(ValueError, match=fault):
        study(1, secagg=True)


def test_secure_aggregation_ends_when_supernodes_are_lost(study: Any) -> None:
    with pytest.raises(RuntimeError, match="round 1: secure aggregation was halted"):
        study(1, secagg=True, lost=2)


def test_with_differential_privacy_models_are_noisy_and_sites_tell_no_metrics(
    study: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = study(1, num_server_rounds=1)
    noisy = study(2, num_server_rounds=1, dp=True)
    again = study(3, num_server_rounds=1, dp=True)
    assert numpy.abs(noisy.arrays[0] - plain.arrays[0]).max() > 0.1
    assert numpy.abs(noisy.arrays[0] - again.arrays[0]).max() > 0.1
    assert all("accuracy" not in record for content in noisy.nodes.seen for record in content.metric_records.values())
    assert study(4, num_server_rounds=1, dp=True, secagg=True).metrics["1"]["accuracy"] > 0


def test_without_a_tracking_server_mlflow_is_not_needed(
    study: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert study(1, num_server_rounds=1).metrics
    assert "tracking" not in capsys.readouterr().out
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert study(2, num_server_rounds=1).metrics
    assert "the image has no package mlflow-skinny: nothing is tracked" in capsys.readouterr().out


def test_a_tracking_server_that_fails_does_not_fail_the_run(
    study: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    done = study(1, num_server_rounds=1)
    assert done.metrics and done.arrays
    assert "tracking: stopped, because" in capsys.readouterr().out
