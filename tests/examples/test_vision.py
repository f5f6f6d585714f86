# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The example with PyTorch: its images, devices and checkpoints, whole runs in this process, and one by Flower's own programs.

There is no GPU here: what is chosen for one is tested, and mixed precision on the CPU. Nothing shows how it computes on a GPU.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tomllib
import torch

from ansible_collections.federated.flower.tests.examples import test_published_apps as published

APP = Path(__file__).parents[2] / "examples/vision"
CPU = torch.device("cpu")
GPU = torch.device("cuda", 0)
SETTINGS = {"epochs": 1, "batch": 32, "rate": 0.05, "seed": 1}
federation = published.federation


@pytest.fixture(autouse=True)
def _app(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The app's folder is in the path, as Flower has it."""
    monkeypatch.syspath_prepend(str(APP))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "vision"]:
        del sys.modules[name]


# The images.


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0])
def test_each_image_goes_to_one_supernode_or_is_held_out(skew: float) -> None:
    from sklearn.datasets import load_digits
    from vision import images

    some = [images.held_out(), *(images.part(number, 3, skew, 1) for number in range(3))]
    found = sorted(pixels.numpy().tobytes() for one in some for pixels in one.pixels)
    wanted = sorted(torch.tensor(pixels / 16, dtype=torch.float32).numpy().tobytes() for pixels in load_digits().images)
    assert found == wanted and len(some[0]) == 360


def test_supernodes_differ_by_the_skew() -> None:
    from vision import images

    def distance(skew: float) -> float:
        shares = [torch.bincount(images.part(number, 2, skew, 1).labels, minlength=10).float() for number in range(2)]
        return float((shares[0] / shares[0].sum() - shares[1] / shares[1].sum()).abs().sum())

    assert distance(0.0) < 0.3 < distance(0.5) < distance(1.0)


@pytest.mark.parametrize("number, parts", [(2, 2), (-1, 2), (0, 0)])
def test_a_part_that_does_not_exist(number: int, parts: int) -> None:
    from vision import images

    with pytest.raises(ValueError, match=f"partition-id is {number}, and num-partitions is {parts}"):
        images.part(number, parts, 0.5, 1)


# Device and precision.


def test_a_gpu_is_used_where_the_pod_sees_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from vision import task

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert task.choose_device() == task.choose_device(needs_gpu=True) == GPU


def test_a_pool_that_needs_a_gpu_does_not_compute_without(monkeypatch: pytest.MonkeyPatch) -> None:
    from vision import task

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert task.choose_device() == CPU
    for cuda, built in (("13.2", "built for CUDA 13.2"), (None, "built for CPUs only")):
        monkeypatch.setattr(torch.version, "cuda", cuda)
        with pytest.raises(RuntimeError, match=f"require-gpu is set .* sees no GPU; it is {built}"):
            task.choose_device(needs_gpu=True)


@pytest.mark.parametrize(
    "device, mixed, capability, wanted",
    [
        (GPU, True, (8, 0), torch.bfloat16),
        (GPU, True, (7, 5), torch.float16),
        (GPU, False, (9, 0), torch.float32),
        (CPU, True, None, torch.float32),
    ],
)
def test_precision(device: Any, mixed: bool, capability: Any, wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vision import task

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: capability)
    assert task.choose_precision(device, mixed) == wanted


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16, torch.float16])
def test_training_in_each_precision_learns_and_keeps_weights_of_float32(precision: Any) -> None:
    from vision import images, task

    own = images.part(0, 1, 0.0, 1)
    weights = task.new_weights(1)
    before = task.measure(weights, images.held_out())
    dtypes: list[torch.dtype] = []
    linear = torch.nn.functional.linear

    def observed(*given: Any) -> torch.Tensor:
        result = linear(*given)
        dtypes.append(result.dtype)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.functional, "linear", observed)
        weights, _loss = task.train(weights, own, device=CPU, precision=precision, **{**SETTINGS, "epochs": 3})
    assert set(dtypes) == {precision}
    assert all(tensor.dtype == torch.float32 for tensor in weights.values())
    after = task.measure(weights, images.held_out())
    assert before["accuracy"] < 0.3 and after["accuracy"] > 0.85 and after["loss"] < before["loss"]


def test_the_same_seed_gives_the_same_model() -> None:
    from vision import images, task

    own = images.part(0, 2, 0.5, 1)
    models = [task.train(task.new_weights(1), own, device=CPU, precision=torch.float32, **{**SETTINGS, "seed": seed})[0] for seed in (1, 1, 2)]
    same, other = (all(torch.equal(models[0][name], one[name]) for name in one) for one in models[1:])
    assert same and not other


# Checkpoints.


@pytest.mark.parametrize(
    ("resume_run", "inputs", "fault"),
    [
        ("1", "inputs/x", "both set"),
        ("../1", "", "not the id of a run"),
        ("1", "", "run 1 has no checkpoint"),
        ("", "../x.pt", "not below FLOWER_OUTPUTS_DIR"),
    ],
)
def test_a_wrong_start(tmp_path: Path, resume_run: str, inputs: str, fault: str) -> None:
    from vision import checkpoints

    with pytest.raises((ValueError, FileNotFoundError), match=fault):
        checkpoints.start(tmp_path, resume_run, inputs)


def test_a_start_without_outputs() -> None:
    from vision import checkpoints

    assert checkpoints.start(None, "", "") is None
    with pytest.raises(ValueError, match="keeps no outputs"):
        checkpoints.start(None, "1", "")


def test_a_file_that_would_execute_something_is_not_read(tmp_path: Path) -> None:
    from vision import checkpoints

    torch.save({"weights": Path("x"), "round": 1}, tmp_path / "x.pt")
    with pytest.raises(Exception, match="[Ww]eights.only"):
        checkpoints.start(tmp_path, "", "x.pt")


def test_a_checkpoint_that_is_half_written_is_not_taken(tmp_path: Path) -> None:
    from vision import checkpoints, task

    folder = tmp_path / "1/checkpoints"
    folder.mkdir(parents=True)
    for number in (2, 10):
        checkpoints.save_round(folder, checkpoints.Checkpoint(task.new_weights(number), number))
    (folder / ".round-0011.pt.part").write_bytes(b"x")
    begin = checkpoints.start(tmp_path, "1", "")
    assert begin and begin.round == 10 and torch.equal(begin.weights["head.3.bias"], task.new_weights(10)["head.3.bias"])


# Whole runs.


class Nodes:
    """Flower's Grid, in front of the app's own ClientApp: every SuperNode is in this process. C(killed_in) ends the ServerApp in that round."""

    def __init__(self, run_config: dict[str, Any], configs: list[dict[str, Any]], killed_in: int) -> None:
        self.run_config = run_config
        self.configs = {2**63 + number: config for number, config in enumerate(configs)}
        self.killed_in = killed_in

    def get_node_ids(self) -> list[int]:
        return list(self.configs)

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Any]:
        from flwr.app import Context, Error, Message, RecordDict
        from flwr.common.constant import ErrorCode
        from vision import client_app

        replies = []
        for message in list(messages)[::-1]:  # answers come in any order
            asked = copy.deepcopy(message)
            asked.metadata._message_id = "x"  # the SuperLink gives messages their ids
            if asked.content["config"]["server-round"] == self.killed_in:
                raise KeyboardInterrupt
            node = asked.metadata.dst_node_id
            context = Context(1, node, self.configs[node], RecordDict(), self.run_config, 1)
            try:
                reply = client_app.app(asked, context)
            except RuntimeError as error:
                reply = Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, str(error)), reply_to=asked)
            reply.metadata._src_node_id = node
            replies.append(reply)
        return replies


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start a run of two SuperNodes, and return what it left: C(folder), C(metrics), C(weights)."""
    from flwr.app import Context, RecordDict
    from flwr.supercore.task_identity import TaskIdentity
    from vision import checkpoints, server_app

    defaults = tomllib.loads((APP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["flwr"]["app"]["config"]
    for name in ("_task_id", "_run_id", "_node_id"):  # what Flower's own processes set before they call an app
        monkeypatch.setattr(TaskIdentity, name, 1)
    monkeypatch.setenv("FLOWER_OUTPUTS_DIR", str(tmp_path))

    def start(run_id: int, *, killed_in: int = 0, node: dict[str, Any] | None = None, **config: Any) -> SimpleNamespace:
        wanted = {**defaults, **{name.replace("_", "-"): value for name, value in config.items()}}
        configs = [{"partition-id": number, "num-partitions": 2, "site": f"site-{number}", **(node or {})} for number in range(2)]
        try:
            server_app.app(Nodes(wanted, configs, killed_in), Context(run_id, 0, {}, RecordDict(), wanted, 1))
        except KeyboardInterrupt:
            assert killed_in
        folder = tmp_path / str(run_id)
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        model = folder / checkpoints.MODEL
        return SimpleNamespace(folder=folder, metrics=metrics, weights=checkpoints.load(model).weights if model.exists() else None)

    return start


def test_a_run_learns_and_says_with_what(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.process_time()
    done = run(1)
    cpu, peak = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert done.metrics["5"]["accuracy"] > 0.95 and done.metrics["5"]["loss"] < done.metrics["1"]["loss"]
    assert sorted(path.name for path in (done.folder / "checkpoints").iterdir()) == [f"round-000{number}.pt" for number in range(1, 6)]
    reported = [line for line in capsys.readouterr().out.splitlines() if line.startswith("round ")]
    assert len(reported) == 5 and reported[4].startswith(f"round 5: accuracy {done.metrics['5']['accuracy']:.4f}")
    assert "on 360 held-out images; site-0 719 images in" in reported[4] and "(cpu, float32), site-1 718 images in" in reported[4]
    with capsys.disabled():
        print(f"\n5 rounds, two SuperNodes, one process: {begun:.0f} s of CPU to start, {cpu:.1f} s for the run, peak {peak:.0f} MiB:", *reported, sep="\n")


def test_a_run_that_was_killed_and_resumed_ends_as_one_that_was_not(run: Any) -> None:
    whole = run(1, num_server_rounds=3)
    killed = run(2, num_server_rounds=3, killed_in=3)
    assert sorted(killed.metrics) == ["1", "2"] and killed.weights is None
    for number, config in ((3, {"resume_run": "2"}), (4, {"inputs": "2/checkpoints/round-0002.pt"})):
        resumed = run(number, num_server_rounds=3, **config)
        assert resumed.metrics == {"3": whole.metrics["3"]}
        assert all(torch.equal(whole.weights[name], resumed.weights[name]) for name in whole.weights)
    with pytest.raises(ValueError, match="checkpoint is that of round 3: set num-server-rounds to more"):
        run(5, num_server_rounds=3, resume_run="3")


def test_a_model_to_start_from(run: Any) -> None:
    done = run(1, num_server_rounds=1)
    again = run(2, num_server_rounds=1, inputs="1/model.pt")
    assert list(again.metrics) == ["1"] and again.metrics["1"]["loss"] < done.metrics["1"]["loss"]


def test_a_run_ends_when_a_pool_has_not_the_gpu_that_it_needs(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=rf"the app at SuperNode {2**63} failed: require-gpu is set for this SuperNode, and PyTorch \S+ sees no GPU"):
        run(1, node={"require-gpu": True})


def test_metrics_are_means_over_the_supernodes_that_have_them() -> None:
    from vision import server_app

    contents = [{"metrics": {"num-examples": 300, "gpu": 1.0, "gpu-memory-mib": 50.0}}, {"metrics": {"num-examples": 100, "gpu": 0.0}}]
    assert dict(server_app.mean_of_known(contents, "num-examples")) == {"gpu": 0.75, "gpu-memory-mib": 50.0}


# Flower's own programs.


def cpu_seconds() -> float:
    """Of all programs that this process has started and that still run, and of those that they started."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(path.parent.name)] = int(fields[1])
        seconds[int(path.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, generation = 0.0, {os.getpid()}
    while generation := {pid for pid, parent in parents.items() if parent in generation}:
        total += sum(seconds[pid] for pid in generation)
    return total


def test_flowers_own_programs_train_it(federation: Any, capsys: pytest.CaptureFixture[str]) -> None:
    begun, cpu = time.monotonic(), cpu_seconds()
    run_id, status = published.run(federation, APP)
    took, cpu = time.monotonic() - begun, cpu_seconds() - cpu
    log = federation.log.read_text(encoding="utf-8", errors="replace")
    assert status == "finished:completed", log[-8000:]
    rounds = [f"checkpoints/round-000{number}.pt" for number in range(1, 6)]
    assert published.saved(federation, run_id) == [*rounds, "metrics.json", "model.pt"]
    folder = federation.outputs / run_id
    said = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["5"]
    assert said["accuracy"] > 0.95, said

    # As README.md says, without Flower.
    (command,) = [line.strip() for line in (APP / "README.md").read_text(encoding="utf-8").splitlines() if line.strip().startswith("python -c ")]
    command = command.replace("python", sys.executable, 1).replace("outputs/RUN_ID", str(folder))
    scored = subprocess.run(["sh", "-c", command], cwd=APP, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, check=True)
    assert scored.stdout.startswith(f"{{'accuracy': {said['accuracy']}"), scored.stdout

    reported = [line for line in log.splitlines() if line.startswith(("round ", "model: ")) or "memory-mib" in line]
    with capsys.disabled():
        print(f"\n5 rounds: accuracy {said['accuracy']:.4f}, {took:.0f} s, {cpu:.0f} s of CPU", *reported, sep="\n")
