#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The archive in $FLOWER_BUILD, then the checks that Galaxy's importer would make.
set -euo pipefail
mkdir -p "$FLOWER_BUILD"
rm -f "$FLOWER_BUILD"/federated-flower-*.tar.gz
ansible-galaxy collection build --force --output-path "$FLOWER_BUILD"
cd "$FLOWER_BUILD"
python -m galaxy_importer.main federated-flower-*.tar.gz
