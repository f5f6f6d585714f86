# SPDX-License-Identifier: Apache-2.0
"""What runs at the hub: federated averaging, one line of report and a checkpoint per round."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from . import task

app = ServerApp()


class ReportingFedAvg(FedAvg):
    """FedAvg that says how each round went, keeps a checkpoint of it, and gives up when no node answers."""

    loss = 0.0
    done = 0  # rounds of the run that this one goes on from
    folder: Path | None = None  # outputs of this run

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Number the rounds as a run without interruption would: what the nodes draw by lot depends on it."""
        return super().configure_train(self.done + server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Average the nodes' models."""
        arrays, metrics = super().aggregate_train(server_round, in_order(replies))
        if arrays is None or metrics is None:
            raise RuntimeError(f"round {self.done + server_round}: not one node returned a model")
        self.loss = float(metrics["loss"])
        write(self.folder, "checkpoint.json", {"round": self.done + server_round, "model": lists(arrays)})
        return arrays, metrics

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Average the nodes' accuracies and report."""
        replies = in_order(replies)
        metrics = super().aggregate_evaluate(server_round, replies)
        contents = [reply.content for reply in replies if not reply.has_error()]
        if metrics is not None:
            examples = sum(int(content["metrics"]["num-examples"]) for content in contents)
            print(
                f"round {self.done + server_round}: accuracy {metrics['accuracy']:.3f}, loss {self.loss:.3f} "
                f"({len(contents)} nodes, {examples} examples{by_site(contents)})",
                flush=True,
            )
        return metrics


def in_order(replies: Iterable[Message]) -> list[Message]:
    """Replies by node, and not by arrival: sums of floats depend on the order."""
    return sorted(replies, key=lambda reply: reply.metadata.src_node_id)


def by_site(contents: list) -> str:
    """Number of nodes of each site, as node configs call it; empty if none has a name."""
    sites = [str(content["who"]["site"]) for content in contents]
    counts = ", ".join(f"{site or 'without a name'} {sites.count(site)}" for site in sorted(set(sites)))
    return f"; {counts}" if any(sites) else ""


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for the number of rounds in the run config."""
    config = context.run_config
    if config["note"]:
        print("note: " + json.dumps(config["note"]), flush=True)
    if config["fail"]:
        raise RuntimeError("this run was told to fail (run config: fail = true)")
    place = os.environ.get("FLOWER_OUTPUTS_DIR")  # if the federation has one
    begin = [key for key in ("resume-run", "inputs") if config[key]]
    if begin and not place:
        raise RuntimeError(
            f"run config {begin[0]}: this federation keeps no outputs, so there is nothing to begin with"
        )
    if len(begin) > 1:
        raise RuntimeError("run config: resume-run and inputs are both set; this app begins with one model")
    nodes = int(config["min-nodes"])
    strategy = ReportingFedAvg(min_available_nodes=nodes, min_train_nodes=nodes, min_evaluate_nodes=nodes)
    if place:
        strategy.folder = Path(place, str(context.run_id))
        strategy.folder.mkdir(exist_ok=True)
    model = task.new_model(int(config["seed"]))
    if place and config["resume-run"]:
        strategy.done, model = read(Path(place, str(config["resume-run"]), "checkpoint.json"))
        print(f"going on from round {strategy.done} of run {config['resume-run']}", flush=True)
    elif place and config["inputs"]:
        _round, model = read(Path(place, str(config["inputs"])))
    rounds = int(config["num-server-rounds"]) - strategy.done
    if rounds < 1:
        raise RuntimeError(f"all {strategy.done} rounds are done; set num-server-rounds to more")
    result = strategy.start(grid=grid, initial_arrays=ArrayRecord(model), num_rounds=rounds)
    accuracies = [float(metrics["accuracy"]) for metrics in result.evaluate_metrics_clientapp.values()]
    if accuracies:
        rounds = f"{len(accuracies)} round{'s' if len(accuracies) > 1 else ''}"
        print(f"accuracy {accuracies[0]:.3f} -> {accuracies[-1]:.3f} in {rounds}", flush=True)
    write(strategy.folder, "model.json", lists(result.arrays))
    write(strategy.folder, "metrics.json", {"accuracy": accuracies})


def lists(arrays: ArrayRecord) -> list:
    """A model as lists of numbers."""
    return [array.tolist() for array in arrays.to_numpy_ndarrays()]


def write(folder: Path | None, name: str, content: object) -> None:
    """Write a file that is complete or not there, whenever the pod ends; nothing without a folder."""
    if folder is None:
        return
    part = folder / f"{name}.part"
    part.write_text(json.dumps(content), encoding="utf-8")
    part.replace(folder / name)


def read(path: Path) -> tuple[int, task.Model]:
    """The round and the model of a checkpoint; round 0 for a model alone."""
    content = json.loads(path.read_text(encoding="utf-8"))
    number, model = (content["round"], content["model"]) if isinstance(content, dict) else (0, content)
    return number, [np.array(array) for array in model]
