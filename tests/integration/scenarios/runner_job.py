# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in a pod of the execution environment: one job, by ansible-runner in a private data directory of its own, as AWX does it.

Reads the job as JSON: name, playbook, the kubeconfig of its credential, extra variables, words for the command line. Prints as JSON what is
left: exit code, what is shown, the events and their sizes in bytes, files outside of runner's own, and texts of all files but events.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

OWN = ("artifacts", "env", "inventory", "project")  # of ansible-runner, in a private data directory


def below(folder: Path) -> set[str]:
    """Files below a folder; links are not followed."""
    return {os.path.join(place, name) for place, _folders, names in os.walk(folder) for name in names}


def main() -> None:
    """Run the job."""
    job = json.load(sys.stdin)
    data = Path("/runner") / job["name"]
    environment = data / "env"
    environment.mkdir(parents=True, mode=0o700)
    kubeconfig = environment / "credential"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(json.dumps(job["kubeconfig"]))
    for name, content in (
        ("envvars", {"K8S_AUTH_KUBECONFIG": str(kubeconfig)}),
        ("extravars", job["variables"]),
        ("settings", {"suppress_ansible_output": True, "job_timeout": job["seconds"]}),
    ):
        (environment / name).write_text(json.dumps(content))
    (environment / "cmdline").write_text(job["words"])
    for name in ("project", "inventory"):
        (data / name).symlink_to(f"/{name}")
    run = subprocess.run(
        ["ansible-runner", "run", str(data), "-p", job["playbook"], "--ident", "job"], capture_output=True, text=True, check=False
    )
    artifacts = data / "artifacts" / "job"
    events = sorted(artifacts.glob("job_events/*.json"), key=lambda path: int(path.name.partition("-")[0]))
    kubeconfig.unlink()
    files = sorted(below(data))
    shown = artifacts / "stdout"
    print(
        json.dumps(
            {
                "rc": run.returncode,
                "runner": run.stdout + run.stderr,
                "stdout": shown.read_text() if shown.exists() else "",
                "events": [json.loads(path.read_text()) for path in events],
                "sizes": [path.stat().st_size for path in events],
                "left": [path for path in files if Path(path).relative_to(data).parts[0] not in OWN],
                "written": {path: Path(path).read_text(errors="replace") for path in files if "/job_events/" not in path},
            }
        )
    )
    shutil.rmtree(data)


if __name__ == "__main__":
    main()
