# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""sanity.py [--changed] [OPTION…]: run `ansible-test sanity` in the current folder (a staged collection), with the package index alone.

With --changed only files are tested that differ from those that passed before (changed.py).

ansible-test fills the environments of its tests from the package index, but takes pip itself from a separate host,
which many sites block. It uses a script in ~/.ansible/test/cache if one is there: this puts one there, which installs
the same version of pip from a wheel beside it. An existing script is not changed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from changed import Passed

SCRIPT = """# Created by federated.flower: installs pip {version} from the wheel in this folder.
import glob, os, sys
here = os.path.dirname(os.path.abspath(__file__))
wheel = glob.glob(os.path.join(here, "pip-{version}-*.whl"))[0]
sys.path.insert(0, wheel)
from pip._internal.cli.main import main
sys.exit(main(["install", "--quiet", "--no-index", "--find-links", here, "pip=={version}"]))
"""


def pip_version() -> str:
    """The version of pip that this ansible-test needs."""
    spec = find_spec("ansible_test")
    source = Path(spec.submodule_search_locations[0], "_internal", "python_requirements.py").read_text("utf-8")
    found = re.search(r"pip=['\"]([0-9.]+)['\"]", source)
    if not found:
        sys.exit("sanity: cannot find the version of pip that ansible-test wants")
    return found.group(1)


def provide_pip(cache: Path) -> None:
    """Put the script and the wheel for `pip_version()` into cache, if no script is there."""
    version = pip_version()
    script = cache / f"get_pip_{version.replace('.', '_')}.py"
    if script.exists():
        return
    cache.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), f"pip=={version}"],
        check=True,
    )
    script.write_text(SCRIPT.format(version=version), encoding="utf-8")


def main() -> int:
    """Exit status of ansible-test."""
    options = sys.argv[1:]
    complete = not set(options) - {"--changed"}
    passed = Passed(f"sanity-{version('ansible-core')}")
    if "--changed" in options:
        options.remove("--changed")
        changed = passed.changed()
        if changed == []:
            print("sanity: no file has changed since it passed")
            return 0
        options += changed or []
    ignores = sorted(Path("tests/sanity").glob("ignore-*.txt"))
    if ignores:
        sys.exit(f"sanity: nothing may be ignored, but there is {ignores[0]}")
    provide_pip(Path.home() / ".ansible" / "test" / "cache")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    status = subprocess.run(
        ["ansible-test", "sanity", "--color", "no", "--python", python, *options], check=False
    ).returncode
    if complete and not status:
        passed.note()
    return status


if __name__ == "__main__":
    sys.exit(main())
