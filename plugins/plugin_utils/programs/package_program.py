# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in a container of Flower: list the Python packages that apps can import there.

It needs nothing but Python 3.9. Its text is part of pods that report their packages (manifests/package_report.py): a change restarts them.
"""

from __future__ import annotations

import base64
import json
import os
import platform
import re
import sys
import zlib
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


def pack(found: dict[str, Any]) -> str:
    """Compress a list. Same list, same text."""
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def packed(limit: int = 0) -> str:
    """The list; if it is longer than a limit, without extras, and then without packages."""
    found = collect()
    text = pack(found)
    for part in ("extras", "packages"):
        if limit and len(text) > limit:
            found.pop(part)
            text = pack(found)
    return text


def main() -> None:
    """Print the list. With a file and a number of bytes as arguments, write what fits into the file, for a pod's status."""
    if len(sys.argv) < 3:
        print(packed())
        return
    try:
        with open(sys.argv[1], "w", encoding="ascii") as stream:
            stream.write(packed(int(sys.argv[2])))
    except Exception as error:  # in any case the pod must start
        print(f"the packages of this image are not reported: {error!r}", flush=True)


if __name__ == "__main__":
    main()
