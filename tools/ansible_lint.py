# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""ansible_lint.py [--changed]: run ansible-lint in the current folder (a staged collection).

With --changed only on YAML files that have changed since it passed (changed.py). It would read files that .ansible-lint excludes if they
were named (ansible-lint 26, Runner.is_excluded), so those are not.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml
from changed import Passed

COMMAND = ["ansible-lint", "--offline", "--profile", "production", "--strict", "-q", "--nocolor"]


def main() -> int:
    """Exit status of ansible-lint."""
    passed, chosen = Passed("ansible-lint"), []
    if "--changed" in sys.argv[1:]:
        changed = passed.changed()
        excluded = tuple(yaml.safe_load(Path(".ansible-lint").read_text("utf-8"))["exclude_paths"])
        chosen = [path for path in changed or [] if path.endswith((".yml", ".yaml")) and not path.startswith(excluded)]
        if changed is not None and not chosen:
            print("ansible-lint: no YAML file has changed since it passed")
            passed.note()
            return 0
    status = subprocess.run([*COMMAND, *chosen], check=False).returncode
    if not status:
        passed.note()
    return status


if __name__ == "__main__":
    sys.exit(main())
