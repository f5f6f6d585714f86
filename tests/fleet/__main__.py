# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Entry point: ``python tests/fleet COMMAND`` (the ``fleet`` script beside this file calls it)."""

from __future__ import annotations

import sys

sys.dont_write_bytecode = True  # run by root: leave no files in the checkout

from flower_fleet.cli import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
