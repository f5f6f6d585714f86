# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""An app of the form of Flower's quickstart-numpy, as ``flwr new`` makes it: it saves its model into the working directory.

The example itself is at Flower's platform, which tests do not reach.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "quickstart-numpy"
    version = "1.0.0"
    license = { file = "LICENSE" }
    dependencies = ["flwr[simulation]>=1.36", "numpy>=2.0.2"]

    [tool.hatch.build.targets.wheel]
    packages = ["."]

    [tool.flwr.app]
    publisher = "flwrlabs"
    fab-format-version = 1
    flwr-version-target = "1.36.0"

    [tool.flwr.app.components]
    serverapp = "quickstart_numpy.server_app:app"
    clientapp = "quickstart_numpy.client_app:app"

    [tool.flwr.app.config]
    num-server-rounds = 1
"""
CLIENT = """
    import numpy as np
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp()


    @app.train()
    def train(msg: Message, context: Context) -> Message:
        arrays = [one + 1 for one in msg.content["arrays"].to_numpy_ndarrays()]
        metrics = MetricRecord({"num-examples": 1})
        return Message(content=RecordDict({"arrays": ArrayRecord(arrays), "metrics": metrics}), reply_to=msg)


    @app.evaluate()
    def evaluate(msg: Message, context: Context) -> Message:
        metrics = MetricRecord({"loss": 0.0, "num-examples": 1})
        return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
"""
SERVER = """
    import numpy as np
    from flwr.app import ArrayRecord, Context
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg

    app = ServerApp()


    @app.main()
    def main(grid: Grid, context: Context) -> None:
        rounds = context.run_config["num-server-rounds"]
        result = FedAvg().start(grid=grid, initial_arrays=ArrayRecord([np.ones((1, 1))]), num_rounds=rounds)
        print("Saving final model to disk...")
        np.savez("final_model", *result.arrays.to_numpy_ndarrays())
"""
MODEL = "final_model.npz"


def write(folder: Path) -> Path:
    """Write the app to a folder that does not exist, and return it."""
    code = folder / "quickstart_numpy"
    code.mkdir(parents=True)
    files = {folder / "pyproject.toml": PROJECT, code / "__init__.py": "", code / "client_app.py": CLIENT, code / "server_app.py": SERVER}
    for path, text in {**files, folder / "LICENSE": "Apache-2.0\n"}.items():
        path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    return folder
