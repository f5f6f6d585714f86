#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# venv.sh PYTHON VENV: fill VENV with requirements/dev.txt. VENV/.ready is written last, so that a broken
# download never passes for an environment.
set -euo pipefail
python=$1 venv=$2
"$python" - <<'PY' || exit 1
import sys
if sys.version_info < (3, 11):
    sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: make PYTHON=/path/to/python3.11 …")
try:
    import ensurepip, venv
except ImportError:
    sys.exit("This Python cannot make environments: install the package python3-venv (Debian, Ubuntu).")
PY
echo "venv: installing the toolchain into $venv (once, some minutes with a cold cache)"
rm -rf "$venv"
"$python" -m venv "$venv"
export PYTHONPATH='' PIP_DISABLE_PIP_VERSION_CHECK=1
"$venv/bin/python" -m pip install --quiet --progress-bar off -r requirements/dev.txt
"$venv/bin/ansible" --version | sed -n 1p  # head would end before it has read all, and fail the pipe
touch "$venv/.ready"
