# SPDX-License-Identifier: Apache-2.0
"""What runs at the hub: federated averaging, and one line of report per round."""

from __future__ import annotations

import json
from collections.abc import Iterable

from flwr.app import ArrayRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from . import task

app = ServerApp()


class ReportingFedAvg(FedAvg):
    """FedAvg that says how each round went, and gives up when no node answers."""

    loss = 0.0

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Average the nodes' models."""
        arrays, metrics = super().aggregate_train(server_round, list(replies))
        if arrays is None or metrics is None:
            raise RuntimeError(f"round {server_round}: not one node returned a model")
        self.loss = float(metrics["loss"])
        return arrays, metrics

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Average the nodes' accuracies and report."""
        replies = list(replies)
        metrics = super().aggregate_evaluate(server_round, replies)
        contents = [reply.content for reply in replies if not reply.has_error()]
        if metrics is not None:
            examples = sum(int(content["metrics"]["num-examples"]) for content in contents)
            print(
                f"round {server_round}: accuracy {metrics['accuracy']:.3f}, loss {self.loss:.3f} "
                f"({len(contents)} nodes, {examples} examples; {by_site(contents)})",
                flush=True,
            )
        return metrics


def by_site(contents: list) -> str:
    """Number of nodes of each site, as the nodes call it."""
    sites = [str(content["who"]["site"]) or "unnamed site" for content in contents]
    return ", ".join(f"{site} {sites.count(site)}" for site in sorted(set(sites)))


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for the wished number of rounds."""
    config = context.run_config
    if config["note"]:
        print("note: " + json.dumps(config["note"]), flush=True)
    if config["fail"]:
        raise RuntimeError("this run was told to fail (run config: fail = true)")
    nodes = int(config["min-nodes"])
    strategy = ReportingFedAvg(min_available_nodes=nodes, min_train_nodes=nodes, min_evaluate_nodes=nodes)
    arrays = ArrayRecord(task.new_model(int(config["seed"])))
    result = strategy.start(grid=grid, initial_arrays=arrays, num_rounds=int(config["num-server-rounds"]))
    accuracies = [float(metrics["accuracy"]) for metrics in result.evaluate_metrics_clientapp.values()]
    if accuracies:
        print(f"accuracy {accuracies[0]:.3f} -> {accuracies[-1]:.3f} in {len(accuracies)} rounds", flush=True)
