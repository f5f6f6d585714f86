# SPDX-License-Identifier: Apache-2.0
"""What runs next to the data, in every SuperNode."""

from __future__ import annotations

import resource
import time

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from . import images, task

app = ClientApp()


@app.train()
def train(msg: Message, context: Context) -> Message:
    """Train the global model on this SuperNode's images."""
    begun = time.monotonic()
    config, node = context.run_config, context.node_config
    device = task.choose_device(bool(node.get("require-gpu", False)))
    precision = task.choose_precision(device, bool(config["mixed-precision"]))
    seed = int(config["seed"])
    own = images.part(int(node.get("partition-id", 0)), int(node.get("num-partitions", 1)), float(config["skew"]), seed)
    round_ = msg.content["config"]
    weights, loss = task.train(
        msg.content["arrays"].to_torch_state_dict(),
        own,
        device=device,
        precision=precision,
        epochs=int(config["local-epochs"]),
        batch=int(config["batch-size"]),
        rate=float(config["learning-rate"]),
        seed=1000 * seed + int(round_["rounds-before"]) + int(round_["server-round"]),
    )
    metrics = {
        "num-examples": len(own),
        "loss": loss,
        "gpu": float(device.type == "cuda"),
        "seconds": time.monotonic() - begun,
        "memory-mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if device.type == "cuda":
        metrics["gpu-memory-mib"] = torch.cuda.max_memory_allocated(device) / 2**20
    who = {
        "site": str(node.get("site", "unnamed site")),
        "device": f"{task.describe(device)}, {str(precision).removeprefix('torch.')}",
    }
    content = {"arrays": ArrayRecord(weights), "metrics": MetricRecord(metrics), "who": ConfigRecord(who)}
    return Message(content=RecordDict(content), reply_to=msg)
