# SPDX-License-Identifier: Apache-2.0
"""What runs at the hub: federated averaging."""

from __future__ import annotations

from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from . import task

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for the wanted number of rounds."""
    config = context.run_config
    nodes = int(config["min-nodes"])
    strategy = FedAvg(min_available_nodes=nodes, min_train_nodes=nodes, min_evaluate_nodes=nodes)
    arrays = ArrayRecord(task.new_model())
    result = strategy.start(grid=grid, initial_arrays=arrays, num_rounds=int(config["num-server-rounds"]))
    for number, metrics in result.evaluate_metrics_clientapp.items():
        print(f"round {number}: accuracy {metrics['accuracy']:.3f}", flush=True)
