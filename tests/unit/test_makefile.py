# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make clean` deletes what `make` created, and nothing beside it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


def clean(folder: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """What `make -n clean` prints in a copy of the checkout's Makefile."""
    folder.mkdir()
    shutil.copy(CHECKOUT / "Makefile", folder)
    shutil.copytree(CHECKOUT / "requirements", folder / "requirements")
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL")}
    command = ["make", "-n", "clean"]
    return subprocess.run(command, cwd=folder, env={**environment, "XDG_CACHE_HOME": str(cache)}, text=True, capture_output=True, check=False)


def test_clean_deletes_two_folders(tmp_path):
    words = shlex.split(clean(tmp_path / "a", tmp_path / "cache").stdout)
    assert words[:2] == ["rm", "-rf"] and words[2] == str(tmp_path / "a" / "build")
    assert len(words) == 4 and words[3].startswith(str(tmp_path / "cache" / "federated-flower" / "stage-"))


@pytest.mark.parametrize(("checkout", "cache"), [("a b", "cache"), ("a", "the cache")])
def test_a_path_with_a_space_is_refused(tmp_path, checkout, cache):
    done = clean(tmp_path / checkout, tmp_path / cache)
    assert done.returncode and "contains a space" in done.stderr and not done.stdout
