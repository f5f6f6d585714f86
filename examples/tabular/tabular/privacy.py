# SPDX-License-Identifier: Apache-2.0
"""SecAgg+ and local differential privacy, both Flower's own. Each is turned on by the run config.

Flower's SecAgg+ is made for its older interface (FitIns, FitRes). The two functions here translate: `mask` at the SuperNodes,
`secure_round` in the ServerApp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.client.mod import secaggplus_mod
from flwr.clientapp.mod import LocalDpMod
from flwr.common import Code, FitIns, FitRes, Parameters, Status
from flwr.compat.common import recorddict_compat as compat
from flwr.server import LegacyContext
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key
from flwr.serverapp import Grid

# SecAgg+ computes with whole numbers, so it has to know the largest weight (rows of one SuperNode), and the largest number of a model
# times its share of that weight. It would cut off what is larger without a word.
MAX_ROWS = 1000.0
MAX_NUMBER = 8.0


def mask(msg: Message, context: Context, train: Any) -> Message:
    """SecAgg+ at a SuperNode (a mod): answer with the trained model masked, if the run asks for it."""
    if not context.run_config["secagg"]:
        return train(msg, context)

    def older(msg: Message, context: Context) -> Message:
        """Train in the older interface: the third of the four messages of a round has the model."""
        instructions = compat.recorddict_to_fitins(msg.content, keep_input=True)
        arrays = compat.parameters_to_arrayrecord(instructions.parameters, keep_input=True)
        config = ConfigRecord(instructions.config)
        msg.content = RecordDict({"arrays": arrays, "config": config})
        reply = train(msg, context)
        if reply.has_error():
            return reply
        parameters = compat.arrayrecord_to_parameters(reply.content["arrays"], keep_input=True)
        rows = int(reply.content["metrics"]["num-examples"])
        if rows > MAX_ROWS:
            raise ValueError(f"{rows} rows are more than SecAgg+ is set up for: raise MAX_ROWS in privacy.py")
        model = reply.content["arrays"].to_numpy_ndarrays()
        if not all(abs(array).max() * rows / MAX_ROWS <= MAX_NUMBER for array in model):
            raise ValueError("the model has larger numbers than SecAgg+ is set up for: raise MAX_NUMBER in privacy.py")
        result = FitRes(Status(Code.OK, ""), parameters, rows, {})
        return Message(compat.fitres_to_recorddict(result, keep_input=True), reply_to=msg)

    return secaggplus_mod(msg, context, older)


def noise(msg: Message, context: Context, train: Any) -> Message:
    """Local differential privacy at a SuperNode (a mod): clip the change of the model and add noise, if the run asks for it."""
    config = context.run_config
    if not config["dp"]:
        return train(msg, context)
    norm = float(config["dp-clipping-norm"])
    # Two tables may change the model in opposite directions, by the norm each: the sensitivity is twice the norm.
    return LocalDpMod(norm, 2 * norm, float(config["dp-epsilon"]), float(config["dp-delta"]))(msg, context, train)


@dataclass(frozen=True)
class _Node:
    node_id: int


class _Bridge:
    """What Flower's workflow asks its strategy and its list of clients, and what it tells them."""

    def __init__(self, nodes: Sequence[int], config: dict[str, Any]) -> None:
        self.nodes = nodes
        self.config = config
        self.answers = 0

    def num_available(self) -> int:
        return len(self.nodes)

    def configure_fit(self, _round: int, parameters: Parameters, _clients: Any) -> list[tuple[_Node, FitIns]]:
        return [(_Node(node), FitIns(parameters, self.config)) for node in self.nodes]

    def aggregate_fit(
        self, _round: int, results: list[tuple[Any, FitRes]], _failures: Any
    ) -> tuple[Parameters | None, dict]:
        self.answers = len(results)
        return (results[0][1].parameters if results else None), {}


def secure_round(
    grid: Grid, context: Context, number: int, nodes: Sequence[int], arrays: ArrayRecord, config: dict[str, Any]
) -> ArrayRecord:
    """Train for one round with SecAgg+.

    Two thirds of the SuperNodes must stay to the end of the round; fewer could neither unmask the sum, nor, together with the hub,
    the model of another one. SuperNodes of one owner are together: what this protects needs three owners or more.

    Raises:
        RuntimeError: too few SuperNodes are there, or stayed.
    """
    bridge = _Bridge(nodes, config)
    legacy = LegacyContext(context, strategy=bridge, client_manager=bridge)  # type: ignore[arg-type]
    legacy.state.array_records[MAIN_PARAMS_RECORD] = arrays
    legacy.state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({Key.CURRENT_ROUND: number})
    SecAggPlusWorkflow(1.0, 0.67, max_weight=MAX_ROWS, clipping_range=MAX_NUMBER)(grid, legacy)
    if not bridge.answers:
        raise RuntimeError(
            f"round {number}: secure aggregation was halted, too few of {len(nodes)} SuperNodes answered"
        )
    return legacy.state.array_records[MAIN_PARAMS_RECORD]
