# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Apps of the form of Flower's quickstart-numpy and quickstart-sklearn, as ``flwr new`` makes them: they save their model into the working directory.

The examples are at Flower's platform, which tests do not reach, and so is the data of the second one: here it comes from scikit-learn's package.
Flower's images have no scikit-learn. So the second one runs on clusters where an image has it, in the scenario of the study: in `make test`, an image of
its own (packages of 45 MB, which take 190 MB) would have to be made and given to three clusters.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "{app.name}"
    version = "1.0.0"
    license = {{ file = "LICENSE" }}
    dependencies = ["flwr[simulation]>=1.36", "{app.dependency}"]

    [tool.hatch.build.targets.wheel]
    packages = ["."]

    [tool.flwr.app]
    publisher = "flwrlabs"
    fab-format-version = 1
    flwr-version-target = "1.36.0"

    [tool.flwr.app.components]
    serverapp = "{app.package}.server_app:app"
    clientapp = "{app.package}.client_app:app"

    [tool.flwr.app.config]
    num-server-rounds = 1
    local-epochs = 1
"""


class App(NamedTuple):
    """A published app: its name, its package, what it needs besides Flower, its modules, and the file with its model."""

    name: str
    package: str
    dependency: str
    modules: Mapping[str, str]
    model: str

    def write(self, parent: Path) -> Path:
        """Write the app to a new folder of its name, and return that."""
        folder = parent / self.name
        code = folder / self.package
        code.mkdir(parents=True)
        files = {folder / "pyproject.toml": PROJECT.format(app=self), folder / "LICENSE": "Apache-2.0\n", code / "__init__.py": ""}
        files |= {code / f"{module}.py": text for module, text in self.modules.items()}
        for path, text in files.items():
            path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
        return folder


NUMPY = App(
    name="quickstart-numpy",
    package="quickstart_numpy",
    dependency="numpy>=2.0.2",
    model="final_model.npz",
    modules={
        "client_app": """
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
        """,
        "server_app": """
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
        """,
    },
)
SKLEARN = App(
    name="quickstart-sklearn",
    package="sklearnexample",
    dependency="scikit-learn>=1.7",
    model="logreg_model.pkl",
    modules={
        "task": """
            import numpy as np
            from sklearn.datasets import load_digits
            from sklearn.linear_model import LogisticRegression
            from sklearn.model_selection import train_test_split

            FEATURES, LABELS = 64, np.arange(10)


            def load_data(partition_id: int, num_partitions: int):
                features, labels = load_digits(return_X_y=True)
                own = slice(partition_id, None, num_partitions)
                return train_test_split(features[own] / 16, labels[own], test_size=0.2, random_state=0)


            def new_model(local_epochs: int) -> LogisticRegression:
                model = LogisticRegression(max_iter=local_epochs, warm_start=True, solver="saga")
                model.classes_ = LABELS
                set_model_params(model, [np.zeros((len(LABELS), FEATURES)), np.zeros(len(LABELS))])
                return model


            def get_model_params(model: LogisticRegression):
                return [model.coef_, model.intercept_]


            def set_model_params(model: LogisticRegression, params) -> None:
                model.coef_, model.intercept_ = params
        """,
        "client_app": """
            import warnings

            from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
            from flwr.clientapp import ClientApp
            from sklearn.metrics import log_loss

            from sklearnexample.task import LABELS, get_model_params, load_data, new_model, set_model_params

            app = ClientApp()


            def begin(msg: Message, context: Context):
                model = new_model(context.run_config["local-epochs"])
                set_model_params(model, msg.content["arrays"].to_numpy_ndarrays())
                return model, load_data(context.node_config["partition-id"], context.node_config["num-partitions"])


            @app.train()
            def train(msg: Message, context: Context) -> Message:
                model, (features, _, labels, _) = begin(msg, context)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(features, labels)
                metrics = {"num-examples": len(labels), "train_loss": float(log_loss(labels, model.predict_proba(features), labels=LABELS))}
                content = {"arrays": ArrayRecord(get_model_params(model)), "metrics": MetricRecord(metrics)}
                return Message(content=RecordDict(content), reply_to=msg)


            @app.evaluate()
            def evaluate(msg: Message, context: Context) -> Message:
                model, (_, features, _, labels) = begin(msg, context)
                metrics = {"num-examples": len(labels), "accuracy": float(model.score(features, labels))}
                return Message(content=RecordDict({"metrics": MetricRecord(metrics)}), reply_to=msg)
        """,
        "server_app": """
            import joblib
            from flwr.app import ArrayRecord, Context
            from flwr.serverapp import Grid, ServerApp
            from flwr.serverapp.strategy import FedAvg

            from sklearnexample.task import get_model_params, new_model, set_model_params

            app = ServerApp()


            @app.main()
            def main(grid: Grid, context: Context) -> None:
                rounds = context.run_config["num-server-rounds"]
                model = new_model(context.run_config["local-epochs"])
                result = FedAvg().start(grid=grid, initial_arrays=ArrayRecord(get_model_params(model)), num_rounds=rounds)
                print("Saving final model to disk...")
                set_model_params(model, result.arrays.to_numpy_ndarrays())
                joblib.dump(model, "logreg_model.pkl")
        """,
    },
)
