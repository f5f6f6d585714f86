# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of an app against the packages of an image."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import requirements
from ansible_collections.federated.flower.plugins.plugin_utils.flower.requirements import PackageList

HELD = PackageList(
    {
        "flwr": "1.41.0",
        "numpy": "1.26.4",
        "torch": "2.9.0+cpu",
        "scikit-learn": "1.8.0rc1",
        "uvicorn": "0.30.0",
        "httptools": "0.5.0",
        "strange": "unknown",
    },
    {"python_version": "3.13", "python_full_version": "3.13.1", "sys_platform": "linux", "platform_machine": "aarch64"},
    {
        "uvicorn": {
            "standard": [
                "httptools>=0.6.3; extra == 'standard'",
                "colorama>=0.4; sys_platform == 'win32' and extra == 'standard'",
                "watchfiles>=0.13; extra == 'standard'",
                "uvicorn[standard]; extra == 'standard'",
            ]
        },
        "flwr": {"simulation": ["ray==2.51; extra == 'simulation'"]},
    },
)


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("numpy", []),
        ("NumPy>=1.26,<2", []),
        ("numpy>=2", ["numpy: >=2 is required, and 1.26.4 is installed"]),
        ("pandas", ["pandas: any version is required, and it is not installed"]),
        ("pandas>=2,<3", ["pandas: <3,>=2 is required, and it is not installed"]),
        ("torch==2.9.0", []),  # a local version is a build of that version
        ("torch==2.9.0+cu128", ["torch: ==2.9.0+cu128 is required, and 2.9.0+cpu is installed"]),
        ("scikit_learn>=1.7", []),  # a pre-release that is installed counts
        ("Scikit.Learn>=1.8", ["Scikit.Learn: >=1.8 is required, and 1.8.0rc1 is installed"]),
        ("flwr~=1.40", []),
        ("flwr[simulation]>=1.40", []),  # of every template of Flower, and of no use here
        ("pywin32; sys_platform == 'win32'", []),
        ("numpy>=2; python_version >= '3.13'", ["numpy: >=2 is required, and 1.26.4 is installed"]),
        ("numpy>=2; python_version < '3.13'", []),
        ("intel-openmp; platform_machine == 'x86_64'", []),
        ("odd; platform_release >= '6'", []),  # what the image does not decide
        ("torch @ https://example.com/torch.whl", []),
        ("jax @ https://example.com/jax.whl", ["jax: any version is required, and it is not installed"]),
        ("strange", []),
        ("strange>=1", ["strange: >=1 is required, and unknown is installed"]),
        (
            "uvicorn[standard]>=0.20",
            [
                "httptools (required by uvicorn[standard]): >=0.6.3 is required, and 0.5.0 is installed",
                "watchfiles (required by uvicorn[standard]): >=0.13 is required, and it is not installed",
            ],
        ),
        ("uvicorn[other]", []),
    ],
)
def test_misfits(text: str, lacks: list[str]) -> None:
    wanted, faults = requirements.parse([text])
    assert not faults
    assert [str(one) for one in requirements.misfits(wanted, HELD)] == lacks


def test_markers_are_those_of_the_image_and_never_of_the_control_node() -> None:
    wanted, _faults = requirements.parse(["numpy>=2; sys_platform == 'darwin'", "x; python_version < '3.0'"])
    other = PackageList({"numpy": "1.0"}, {**HELD.environment, "sys_platform": "darwin", "python_version": "2.7"})
    assert not requirements.misfits(wanted, HELD)
    assert [one.package for one in requirements.misfits(wanted, other)] == ["numpy", "x"]


def test_all_misfits_are_named_once_and_in_order() -> None:
    wanted, faults = requirements.parse(["b>=1", "numpy>=2", "b>=1", "no such thing", "a", "numpy>>1"])
    assert [one.package for one in requirements.misfits(wanted, HELD)] == ["b", "numpy", "a"]
    assert len(faults) == 2 and "'no such thing' is not a requirement" in faults[0] and "'numpy>>1'" in faults[1]


def test_versions_from_other_containers_cannot_forge_lines() -> None:
    wanted, _faults = requirements.parse(["numpy<1"])
    for version in ("1\nfatal: [hub]", "\x1b[31m1", "1" * 100, ""):
        (one,) = requirements.misfits(wanted, PackageList({"numpy": version}, HELD.environment))
        assert one.found == "no version"


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {"packages": {}, "extras": {}},
        {"packages": {}, "environment": {}},
        {"packages": {"a": 1}, "environment": {}, "extras": {}},
        {"packages": {}, "environment": {}, "extras": {"a": []}},
        {"packages": {}, "environment": {}, "extras": {"a": {"b": [1]}}},
        {"packages": [], "environment": {}, "extras": {}},
    ],
)
def test_an_answer_of_another_shape_is_refused(wrong: Any) -> None:
    with pytest.raises(ClusterError, match="something else than a list of packages"):
        PackageList.read(wrong)
