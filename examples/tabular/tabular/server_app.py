# SPDX-License-Identifier: Apache-2.0
"""What runs at the hub: federated averaging, a checkpoint and a line of report for each round, and the model at the end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from logging import INFO
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Context, Message
from flwr.common import log
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from . import checkpoints, privacy, table, task
from .tracking import Tracking

app = ServerApp()

# Errors of the app at a SuperNode, such as a table that cannot be read. The next round would have them as well.
FAULTS = {
    ErrorCode.LOAD_CLIENT_APP_EXCEPTION,
    ErrorCode.CLIENT_APP_RAISED_EXCEPTION,
    ErrorCode.MOD_FAILED_PRECONDITION,
    ErrorCode.INVALID_FAB,
}


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for the wanted number of rounds."""
    config = context.run_config
    outputs = Path(os.environ["FLOWER_OUTPUTS_DIR"]) if os.environ.get("FLOWER_OUTPUTS_DIR") else None
    begin = checkpoints.start(outputs, str(config["resume-run"]), str(config["inputs"])) or checkpoints.Checkpoint(
        task.new_model()
    )
    rounds = int(config["num-server-rounds"])
    if begin.round >= rounds:
        raise ValueError(
            f"the checkpoint is that of round {begin.round}, and num-server-rounds is {rounds}: nothing is left to train"
        )
    if begin.round:
        print(f"going on after round {begin.round} of {config['resume-run'] or config['inputs']}", flush=True)
    arrays = ArrayRecord(begin.arrays)
    with Tracking("tabular", context.run_id, config) as tracking:
        study = Study(grid, context, outputs / str(context.run_id) if outputs else None, tracking)
        for number in range(begin.round + 1, rounds + 1):
            log(INFO, "[ROUND %s/%s]", number, rounds)
            arrays = study.train(number, arrays)
            study.measure(number, arrays)
        study.end(arrays)


class Study:
    """One run.

    Args:
        grid: the SuperNodes.
        context: of the run.
        folder: outputs of this run, or None if the federation keeps none.
        tracking: where metrics and the model go as well.
    """

    def __init__(self, grid: Grid, context: Context, folder: Path | None, tracking: Tracking) -> None:
        self.grid, self.context, self.folder, self.tracking = Checked(grid), context, folder, tracking
        self.held_out = table.held_out()
        self.metrics: dict[int, dict[str, float]] = {}
        nodes = int(context.run_config["min-nodes"])
        self.strategy = FedAvg(min_available_nodes=nodes, min_train_nodes=nodes, min_evaluate_nodes=nodes)

    def train(self, number: int, arrays: ArrayRecord) -> ArrayRecord:
        """Let all SuperNodes train, and average their models."""
        config = ConfigRecord({"server-round": number})
        messages = list(self.strategy.configure_train(number, arrays, config, self.grid))
        if self.context.run_config["secagg"]:
            nodes = [message.metadata.dst_node_id for message in messages]
            return privacy.secure_round(self.grid, self.context, number, nodes, arrays, dict(config))
        found, _metrics = self.strategy.aggregate_train(number, in_order(self.grid.send_and_receive(messages)))
        if found is None:
            raise RuntimeError(f"round {number}: no SuperNode returned a model")
        return found

    def measure(self, number: int, arrays: ArrayRecord) -> None:
        """Measure the model at the sites and on the rows that are held out, write the checkpoint, and report."""
        model = arrays.to_numpy_ndarrays()
        sites = "" if self.context.run_config["dp"] else self.ask_sites(number, arrays)
        log(INFO, "Global evaluation")
        found = task.measure(model, self.held_out)
        log(INFO, "\t└──> MetricRecord: %s", found)
        self.metrics[number] = found
        if self.folder:
            checkpoints.save_round(self.folder / "checkpoints", checkpoints.Checkpoint(model, number))
            (self.folder / "metrics.json").write_text(json.dumps(self.metrics, indent=2), encoding="utf-8")
        self.tracking.metrics(number, found)
        print(
            f"round {number}: accuracy {found['accuracy']:.4f}, loss {found['loss']:.4f} on the held-out rows{sites}",
            flush=True,
        )

    def ask_sites(self, number: int, arrays: ArrayRecord) -> str:
        """Measure at the sites; tell the accuracy of each.

        Not with differential privacy: these numbers come from the sites' rows without noise.
        """
        messages = self.strategy.configure_evaluate(number, arrays, ConfigRecord(), self.grid)
        replies = in_order(self.grid.send_and_receive(messages))
        metrics = self.strategy.aggregate_evaluate(number, replies)
        log(INFO, "\t└──> Aggregated MetricRecord: %s", metrics)
        return "; " + by_site(replies)

    def end(self, arrays: ArrayRecord) -> None:
        """Write the model."""
        if not self.folder:
            return
        path = self.folder / checkpoints.MODEL
        checkpoints.save(path, checkpoints.Checkpoint(arrays.to_numpy_ndarrays()))
        self.tracking.model(path)
        print(f"model: {self.folder.name}/{path.name}", flush=True)


class Checked:
    """The SuperNodes, as Flower's strategies and its SecAgg+ ask them. No SuperNode is left out without a word.

    Args:
        grid: the SuperNodes.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def get_node_ids(self) -> Iterable[int]:
        """Those that are online."""
        return self.grid.get_node_ids()

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        """Ask SuperNodes, and tell which ones have not answered.

        Raises:
            RuntimeError: the app failed at one of them.
        """
        messages = list(messages)
        replies = list(self.grid.send_and_receive(messages, timeout=timeout))
        errors = {reply.metadata.src_node_id: reply.error for reply in replies if reply.has_error()}
        for node, error in errors.items():
            if error.code in FAULTS:
                raise RuntimeError(f"the app at SuperNode {node} failed: {error.reason}")
        answered = {reply.metadata.src_node_id for reply in replies} - errors.keys()
        for node in sorted({message.metadata.dst_node_id for message in messages} - answered):
            reason = errors[node].reason if node in errors else "no answer"
            print(f"SuperNode {node} takes no part: {reason}", flush=True)
        return replies


def in_order(replies: Iterable[Message]) -> list[Message]:
    """Replies by node, and not by arrival: sums of floats depend on the order, and a run is to give the same model each time."""
    return sorted(replies, key=lambda reply: reply.metadata.src_node_id)


def by_site(replies: Iterable[Message]) -> str:
    """Accuracy at each site."""
    found: dict[str, list[tuple[float, int]]] = {}
    for content in (reply.content for reply in replies if not reply.has_error()):
        metrics = content["metrics"]
        found.setdefault(str(content["who"]["site"]), []).append(
            (float(metrics["accuracy"]), int(metrics["num-examples"]))
        )
    texts = []
    for site, pairs in sorted(found.items()):
        measured = [(one, number) for one, number in pairs if number]  # a table of few rows has none to measure with
        rows = sum(number for _accuracy, number in measured)
        accuracy = f"{sum(one * number for one, number in measured) / rows:.4f}" if rows else "not measured"
        texts.append(f"{site} {accuracy} ({rows} rows)")
    return ", ".join(texts)
