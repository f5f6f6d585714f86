# SPDX-License-Identifier: Apache-2.0
"""The model, how it is trained, and on which device, without a word of Flower."""

from __future__ import annotations

import torch
from torch import nn

from .images import Images

Weights = dict[str, torch.Tensor]


class Net(nn.Module):
    """Two convolutions and two linear layers: 38,282 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Score of each digit, shape (n, 10)."""
        return self.head(self.convolutions(pixels))


def new_weights(seed: int) -> Weights:
    """Weights of a model that knows nothing."""
    torch.manual_seed(seed)
    return Net().state_dict()


def choose_device(needs_gpu: bool = False) -> torch.device:
    """The first GPU that the pod sees, or the CPU.

    Args:
        needs_gpu: the pool was deployed for GPUs (C(require-gpu) in its node config).

    Raises:
        RuntimeError: it needs a GPU, and there is none.
    """
    if torch.cuda.is_available():
        return torch.device("cuda", 0)
    if needs_gpu:
        built = f"is built for CUDA {torch.version.cuda}" if torch.version.cuda else "is built for CPUs only"
        raise RuntimeError(f"require-gpu is set for this SuperNode, and PyTorch {torch.__version__} sees no GPU; it {built}")
    return torch.device("cpu")


def describe(device: torch.device) -> str:
    """The device in words."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def choose_precision(device: torch.device, mixed: bool) -> torch.dtype:
    """The type in which convolutions and products are computed. Weights are always float32."""
    if not mixed or device.type != "cuda":
        return torch.float32
    major, _minor = torch.cuda.get_device_capability(device)
    return torch.bfloat16 if major >= 8 else torch.float16  # from NVIDIA's Ampere on; older ones only emulate bfloat16


def train(
    weights: Weights, images: Images, *, device: torch.device, precision: torch.dtype, epochs: int, batch: int, rate: float, seed: int
) -> tuple[Weights, float]:
    """Go on training a model.

    Returns:
        The new weights, in the memory of the CPU, and the mean loss of the last epoch.
    """
    torch.manual_seed(seed)
    model = Net().to(device)
    model.load_state_dict(weights)
    model.train()
    images = images.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    # Small gradients are zero in float16: they are computed with a factor. bfloat16 has the range of float32, and needs none.
    scaler = torch.amp.GradScaler(device.type, enabled=precision == torch.float16)
    loss = torch.zeros(())
    for _epoch in range(epochs):
        total = torch.zeros((), device=device)
        for some in torch.randperm(len(images)).to(device).split(batch):
            with torch.autocast(device.type, dtype=precision, enabled=precision != torch.float32):
                one = nn.functional.cross_entropy(model(images.pixels[some]), images.labels[some])
            optimizer.zero_grad()
            scaler.scale(one).backward()
            scaler.step(optimizer)
            scaler.update()
            total += one.detach() * len(some)
        loss = total / len(images)
    return {name: tensor.cpu() for name, tensor in model.state_dict().items()}, float(loss)


@torch.inference_mode()
def measure(weights: Weights, images: Images, device: torch.device | None = None) -> dict[str, float]:
    """Share of the images that the model reads right (accuracy), and its mean loss."""
    device = device or torch.device("cpu")
    model = Net().to(device)
    model.load_state_dict(weights)
    model.eval()
    images = images.to(device)
    scores = model(images.pixels)
    return {
        "accuracy": float((scores.argmax(dim=1) == images.labels).float().mean()),
        "loss": float(nn.functional.cross_entropy(scores, images.labels)),
    }
