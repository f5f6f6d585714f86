# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in a container of Flower: list the Python packages that apps can import there.

It needs nothing but Python 3.9.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from importlib import metadata
from typing import Any


def environment() -> dict[str, str]:
    """What markers of requirements refer to, but for the kernel's release and version, which belong to a node and not to an image.

    Source: packaging.python.org, «Dependency specifiers».
    """
    info = sys.implementation.version
    suffix = "" if info.releaselevel == "final" else info.releaselevel[0] + str(info.serial)
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": f"{info.major}.{info.minor}.{info.micro}{suffix}",
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_system": platform.system(),
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    }


def normal(name: str) -> str:
    """A name by which packages are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def collect() -> dict[str, Any]:
    """Environment; package -> version; package -> extra -> its requirements."""
    packages: dict[str, str] = {}
    extras: dict[str, dict[str, list[str]]] = {}
    for one in metadata.distributions():
        name = normal(str(one.metadata["Name"] or ""))
        if not name or name in packages:  # the first in sys.path is the one that is imported
            continue
        packages[name] = str(one.metadata["Version"] or "")
        for text in one.requires or []:
            for extra in re.findall(r"extra\s*==\s*['\"]([^'\"]+)['\"]", text):
                extras.setdefault(name, {}).setdefault(normal(extra), []).append(text)
    return {"environment": environment(), "packages": packages, "extras": extras}


def main() -> None:
    """Print the list as a line of JSON."""
    print(json.dumps(collect()))


if __name__ == "__main__":
    main()
