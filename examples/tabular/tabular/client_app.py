# SPDX-License-Identifier: Apache-2.0
"""What runs next to the data, in every SuperNode."""

from __future__ import annotations

import os
import time
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode

from . import privacy, table, task

app = ClientApp()


def rows_of(context: Context) -> tuple[table.Rows, table.Rows]:
    """The rows of this SuperNode: those to train on, and those to measure with."""
    folder = os.environ.get(f"FLOWER_DATASET_{table.DATASET.upper()}")
    if not folder:
        raise RuntimeError(f"this SuperNode has no dataset {table.DATASET!r} (supernode_datasets)")
    node = context.node_config
    part, parts = int(node.get("part", 0)), int(node.get("parts", 1))
    return task.parts(table.read(Path(folder, table.FILE), part, parts))


def model_of(msg: Message) -> task.Model:
    """The global model in a message."""
    return msg.content["arrays"].to_numpy_ndarrays()


@app.train(mods=[privacy.mask, privacy.noise])
def train(msg: Message, context: Context) -> Message:
    """Train the global model on this SuperNode's rows."""
    config = context.run_config
    rows, _measured = rows_of(context)
    time.sleep(float(config["sleep"]))
    seed = 1000 * int(config["seed"]) + int(msg.content["config"]["server-round"])
    model = task.train(model_of(msg), rows, int(config["local-epochs"]), float(config["learning-rate"]), seed)
    metrics = MetricRecord({"num-examples": len(rows.labels)})
    return Message(RecordDict({"arrays": ArrayRecord(model), "metrics": metrics}), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    """Measure the global model on this SuperNode's rows. Not with differential privacy: these numbers have no noise."""
    if context.run_config["dp"]:
        reason = "with differential privacy a SuperNode does not tell how well a model fits its rows"
        return Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=msg)
    _rows, measured = rows_of(context)
    metrics = MetricRecord({"num-examples": len(measured.labels), **task.measure(model_of(msg), measured)})
    who = ConfigRecord({"site": str(context.node_config.get("site", "unnamed site"))})
    return Message(RecordDict({"metrics": metrics, "who": who}), reply_to=msg)
