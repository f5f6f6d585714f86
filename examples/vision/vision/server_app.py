# SPDX-License-Identifier: Apache-2.0
"""What runs at the hub: federated averaging, a measurement, a checkpoint and a line of report for each round, and the model at the end."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterable
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from . import checkpoints, images, task

app = ServerApp()

# Errors of the app at a SuperNode, such as a GPU that is not there. The next round would have them as well.
FAULTS = {ErrorCode.LOAD_CLIENT_APP_EXCEPTION, ErrorCode.CLIENT_APP_RAISED_EXCEPTION, ErrorCode.INVALID_FAB}


class ReportingFedAvg(FedAvg):
    """FedAvg that ends the run when the app fails at a SuperNode, and keeps what the SuperNodes computed with."""

    nodes = ""

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Average the models, in the order of the SuperNodes and not of their answers: sums of floats depend on it."""
        replies = sorted(replies, key=lambda reply: reply.metadata.src_node_id)
        for reply in replies:
            if reply.has_error() and reply.error.code in FAULTS:
                raise RuntimeError(f"the app at SuperNode {reply.metadata.src_node_id} failed: {reply.error.reason}")
        arrays, metrics = super().aggregate_train(server_round, replies)
        if arrays is None:
            raise RuntimeError("no SuperNode returned a model")
        self.nodes = ", ".join(describe(reply) for reply in replies if not reply.has_error())
        return arrays, metrics


def describe(reply: Message) -> str:
    """What one SuperNode computed, with what."""
    who, metrics = reply.content["who"], reply.content["metrics"]
    return f"{who['site']} {metrics['num-examples']} images in {metrics['seconds']:.1f} s ({who['device']})"


def mean_of_known(contents: list, weight: str) -> MetricRecord:
    """Mean of each metric over the SuperNodes that have it: those without a GPU have no memory of one."""
    records = [content["metrics"] for content in contents]
    names = sorted({name for record in records for name in record} - {weight})
    known = {name: [record for record in records if name in record] for name in names}
    return MetricRecord(
        {name: sum(one[name] * one[weight] for one in some) / sum(one[weight] for one in some) for name, some in known.items()}
    )


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for the wanted number of rounds."""
    config = context.run_config
    outputs = Path(os.environ["FLOWER_OUTPUTS_DIR"]) if os.environ.get("FLOWER_OUTPUTS_DIR") else None
    begin = checkpoints.start(outputs, str(config["resume-run"]), str(config["inputs"])) or checkpoints.Checkpoint(
        task.new_weights(int(config["seed"]))
    )
    rounds = int(config["num-server-rounds"]) - begin.round
    if rounds < 1:
        raise ValueError(f"the checkpoint is that of round {begin.round}: set num-server-rounds to more")
    folder = outputs / str(context.run_id) if outputs else None
    if folder:
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    if begin.round:
        print(f"going on after round {begin.round} of {config['resume-run'] or config['inputs']}", flush=True)

    device, measured_with = task.choose_device(), images.held_out()
    nodes = int(config["min-nodes"])
    strategy = ReportingFedAvg(
        fraction_evaluate=0.0,  # all is measured here
        min_available_nodes=nodes,
        min_train_nodes=nodes,
        train_metrics_aggr_fn=mean_of_known,
    )
    metrics: dict[int, dict[str, float]] = {}

    def measure(number: int, arrays: ArrayRecord) -> MetricRecord:
        """Measure the model after a round, write its checkpoint, and report."""
        weights = arrays.to_torch_state_dict()
        found = task.measure(weights, measured_with, device)
        done = begin.round + number
        if number and folder:
            metrics[done] = found
            checkpoints.save_round(folder / "checkpoints", checkpoints.Checkpoint(weights, done))
            (folder / "metrics.json").write_text(json.dumps(metrics, indent=2), encoding="utf-8")
        if number:
            reported = f"accuracy {found['accuracy']:.4f}, loss {found['loss']:.4f} on {len(measured_with)} held-out images"
            print(f"round {done}: {reported}; {strategy.nodes}", flush=True)
        return MetricRecord(found)

    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(begin.weights),
        num_rounds=rounds,
        train_config=ConfigRecord({"rounds-before": begin.round}),
        evaluate_fn=measure,
    )
    if folder:
        checkpoints.save(folder / checkpoints.MODEL, result.arrays.to_torch_state_dict())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"model: {context.run_id}/{checkpoints.MODEL}; peak memory of the ServerApp: {peak:.0f} MiB", flush=True)
