# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Program that runs inside the SuperLink container of flower-operator and lists its runs with Flower's own command line.

The controller sends this file's text and a request as two lines of JSON on standard input. It leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile


def main() -> None:
    """Print C(runs), a list of Flower's, or C(why) they are not known."""
    request = json.loads(sys.stdin.readline())
    trust = f'root-certificates = "{request["ca"]}"' if request["ca"] else "insecure = true"
    try:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as stream:
                stream.write(f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{request["port"]}"\n{trust}\n')
            done = subprocess.run(
                ["flwr", *request["list"], "here", "--format", "json"],
                env={**os.environ, "FLWR_HOME": folder, "HOME": folder, "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"},
                capture_output=True,
                text=True,
                timeout=request["seconds"],
                check=False,
            )
        answer = json.loads(done.stdout)
        told = {"runs": answer["runs"]} if answer.get("success") else {"why": str(answer.get("error-message"))[:300]}
    except (OSError, ValueError, KeyError, AttributeError, subprocess.TimeoutExpired) as error:
        told = {"why": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
