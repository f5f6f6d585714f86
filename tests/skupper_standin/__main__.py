# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Entry point: ``python tests/skupper_standin COMMAND``, see README.md."""

from __future__ import annotations

import sys

sys.dont_write_bytecode = True  # run by root: leave no files in the checkout

from skupper_standin.cli import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
