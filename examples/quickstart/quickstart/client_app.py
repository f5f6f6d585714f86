# SPDX-License-Identifier: Apache-2.0
"""What runs next to the data, in every SuperNode."""

from __future__ import annotations

import time

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from . import task

app = ClientApp()


def place(context: Context) -> tuple[int, int]:
    """Partition and number of partitions; a node that was told nothing has all of the data."""
    node = context.node_config
    return int(node.get("partition-id", 0)), max(int(node.get("num-partitions", 1)), 1)


def who(context: Context) -> ConfigRecord:
    """Where this node says it is, for the ServerApp's report."""
    node = context.node_config
    return ConfigRecord({"site": str(node.get("site", "")), "region": str(node.get("region", ""))})


def model_of(msg: Message) -> task.Model:
    """The global model in a message."""
    return msg.content["arrays"].to_numpy_ndarrays()


@app.train()
def train(msg: Message, context: Context) -> Message:
    """Train the global model on this node's data."""
    config = context.run_config
    partition, partitions = place(context)
    data = task.make_data(config["seed"], partition, partitions, config["examples"])
    time.sleep(float(config["sleep"]))
    model, loss = task.train(
        model_of(msg),
        data,
        int(config["local-epochs"]),
        float(config["learning-rate"]),
        seed=int(msg.content["config"]["server-round"]),
    )
    print(f"partition {partition} of {partitions}, {dict(who(context))}: loss {loss:.3f}", flush=True)
    content = {
        "arrays": ArrayRecord(model),
        "metrics": MetricRecord({"num-examples": len(data.labels), "loss": loss}),
        "who": who(context),
    }
    return Message(content=RecordDict(content), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    """Measure the global model on this node's test data."""
    config = context.run_config
    data = task.make_data(config["seed"], *place(context), config["examples"], test=True)
    accuracy = task.evaluate(model_of(msg), data)
    content = {
        "metrics": MetricRecord({"num-examples": len(data.labels), "accuracy": accuracy}),
        "who": who(context),
    }
    return Message(content=RecordDict(content), reply_to=msg)
