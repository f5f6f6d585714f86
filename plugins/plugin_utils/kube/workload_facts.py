# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a workload, as the API server or the agent of its site reports it. Pure.

Those of all sites are compared and added up in one place, so each has its type here, and a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import object_names
from ..base.foreign_data import cleaned
from ..base.kinds import images_of
from ..base.labels import POOL_LABEL
from ..base.values import integer

_PODS = 1_000_000  # more than any cluster has
_NAME, _IMAGE = 253, 1000  # characters


def number(value: Any, most: int = _PODS) -> int:
    """A count of pods, or something else of which there are at most so many; 0 for None. Text of digits counts as well.

    Raises:
        ValueError: it is not one.
    """
    found = (integer(value) or 0) if value is None or isinstance(value, (int, str)) else -1
    if not 0 <= found <= most:
        raise ValueError(f"{cleaned(str(value), 40)!r} is not a number from 0 to {most}")
    return found


def name(value: Any, most: int = _NAME) -> str:
    """A name in one line, with at most so many characters."""
    return cleaned(str(value), most)


def facts(obj: Mapping[str, Any], desired: Any, ready: Any) -> dict[str, Any]:
    """What is shown of a Deployment, StatefulSet or DaemonSet that wants so many pods, of which so many are ready.

    Returns:
        C(kind), C(name), C(pool) (None where there is none), C(desired), C(ready), C(image) of its main container, C(images) (container -> image), C(version)
        and C(datasets).

    Raises:
        ValueError, or another of C(foreign_data.FAULTS): it has another shape.
    """
    labels = obj["metadata"].get("labels") or {}
    pool = labels.get(POOL_LABEL)
    return {
        "kind": name(obj["kind"]),
        "name": name(obj["metadata"]["name"]),
        "pool": None if pool is None else name(pool),
        "desired": number(desired),
        "ready": number(ready),
        "image": name(obj["spec"]["template"]["spec"]["containers"][0]["image"], _IMAGE),
        "images": {name(container): name(image, _IMAGE) for container, image in images_of(obj).items()},
        "version": name(labels.get("app.kubernetes.io/version", "")),
        "datasets": [name(one) for one in object_names.mounted_datasets(obj)],
    }
