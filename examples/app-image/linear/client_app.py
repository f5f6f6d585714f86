# SPDX-License-Identifier: Apache-2.0
"""What runs next to the data, in every SuperNode."""

from __future__ import annotations

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from . import task

app = ClientApp()


def data_of(context: Context) -> tuple:
    """The data of this node."""
    config = context.run_config
    return task.make_data(int(config["seed"]), int(context.node_config.get("partition-id", 0)), int(config["examples"]))


def model_of(msg: Message) -> task.Model:
    """The global model in a message."""
    return msg.content["arrays"].to_numpy_ndarrays()


@app.train()
def train(msg: Message, context: Context) -> Message:
    """Train the global model on this node's data."""
    features, labels = data_of(context)
    model = task.train(model_of(msg), features, labels)
    metrics = MetricRecord({"num-examples": len(labels)})
    return Message(content=RecordDict({"arrays": ArrayRecord(model), "metrics": metrics}), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    """Measure the global model on this node's data."""
    features, labels = data_of(context)
    accuracy = task.evaluate(model_of(msg), features, labels)
    metrics = MetricRecord({"num-examples": len(labels), "accuracy": accuracy})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
