# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""ansible_lint.py [--changed]: run ansible-lint in the current folder (a staged collection).

With --changed only on YAML files that have changed since it passed (changed.py). What it says of a file hardly depends on others; the
whole run of `make test` sees the rest.
"""

from __future__ import annotations

import subprocess
import sys

from changed import Passed

COMMAND = ["ansible-lint", "--offline", "--profile", "production", "--strict", "-q", "--nocolor"]


def main() -> int:
    """Exit status of ansible-lint."""
    passed, chosen = Passed("ansible-lint"), []
    if "--changed" in sys.argv[1:]:
        changed = passed.changed()
        chosen = [path for path in changed or [] if path.endswith((".yml", ".yaml"))]
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
