# SPDX-License-Identifier: Apache-2.0
"""MLflow, where the federation has a server (MLFLOW_TRACKING_URI) and the image has the package; otherwise nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def say(text: str) -> None:
    """Print a line of the log."""
    print(text, flush=True)


class Tracking:
    """One run at the server, and a context that ends it. A server that fails ends the tracking and not the run.

    Args:
        app: the experiment's name.
        run_id: the run's name.
        parameters: what the run was started with.
    """

    def __init__(self, app: str, run_id: int, parameters: Mapping[str, Any]) -> None:
        self._mlflow: Any = None
        server = os.environ.get("MLFLOW_TRACKING_URI")
        if not server:
            return
        # MLflow's defaults wait for a server that does not answer for many minutes, without a word.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        try:
            import mlflow
        except ImportError:
            say("tracking: MLFLOW_TRACKING_URI is set, and the image has no package mlflow-skinny: nothing is tracked")
            return
        say(f"tracking: {server}, experiment {app}")
        self._mlflow = mlflow
        self._tell(lambda: mlflow.set_experiment(app))
        self._tell(lambda: mlflow.start_run(run_name=str(run_id), tags={"flower.run_id": str(run_id)}))
        self._tell(lambda: mlflow.log_params(dict(parameters)))

    def __enter__(self) -> Tracking:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._tell(lambda: self._mlflow.end_run("FAILED" if kind else "FINISHED"))

    def metrics(self, number: int, values: Mapping[str, float]) -> None:
        """Log the metrics of a round."""
        self._tell(lambda: self._mlflow.log_metrics(dict(values), step=number))

    def model(self, path: Path) -> None:
        """Log the model."""
        try:
            self._tell(lambda: self._mlflow.log_artifact(str(path), "model"))
        except ImportError as error:  # of the client of a store that the server does not hide
            say(f"tracking: the model is not logged, because the image lacks a package for the server's store: {error}")

    def _tell(self, call: Callable[[], Any]) -> None:
        if self._mlflow is None:
            return
        try:
            call()
        except (self._mlflow.exceptions.MlflowException, OSError) as error:
            say(f"tracking: stopped, because the server does not take it: {error}")
            self._mlflow = None
