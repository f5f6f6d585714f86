# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""chromium.py: print the folder with Chromium without a window, of Debian's packages. They are fetched if the cache has none.

Unpacked and not installed: the machine stays as it is. chromium.py axe: print the file of axe-core, which finds what hinders people who use screen readers
or keyboards, of the npm registry.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from debian_packages import cache, ensure, filling

PACKAGE = "chromium-headless-shell"
PROGRAM = "usr/lib/chromium/chromium-headless-shell"
AXE = "axe-core"
VERSION = "4.14.1"


def axe() -> Path:
    """The file. npm compares the archive with the registry's checksum."""
    name = f"{AXE}-{VERSION}"
    with filling(name, "axe.min.js") as partial:
        if partial is not None:
            subprocess.run(["npm", "pack", "--silent", f"{AXE}@{VERSION}"], cwd=partial, stdout=sys.stderr, check=True)
            with tarfile.open(partial / f"{name}.tgz") as archive:
                file = archive.extractfile("package/axe.min.js")
                assert file is not None
                (partial / "axe.min.js").write_bytes(file.read())
    return cache() / name / "axe.min.js"


if __name__ == "__main__":
    print(axe() if sys.argv[1:] == ["axe"] else ensure(PACKAGE, PROGRAM, needs=True))
