#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# HTML documentation in $FLOWER_BUILD/docs. References to Ansible's own documentation need the internet to resolve
# and are left plain; a reference within this collection that leads nowhere fails the build.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
antsibull-docs sphinx-init --use-current --dest-dir "$work" --lenient federated.flower >"$work/init.log"
# No network: the inventories of other projects are not asked for.
cat >>"$work/conf.py" <<'PY'
intersphinx_mapping = {}
PY
mkdir -p "$work/rst"
antsibull-docs --config-file "$work/antsibull-docs.cfg" collection --fail-on-error --use-current --dest-dir "$work/rst" --no-indexes \
    --squash-hierarchy federated.flower
cp -R docs/docsite/rst/images "$work/rst/docsite/images"
sphinx-build -M html "$work/rst" "$work/out" -c "$work" -q >"$work/sphinx.log" 2>&1 || { cat "$work/sphinx.log"; exit 1; }
# Plain references to other projects are expected.
expected="undefined label: '(?!ansible_collections\.federated\.flower)|'envvar' reference .* ANSIBLE_"
if grep -E 'WARNING|ERROR|CRITICAL' "$work/sphinx.log" | grep -v -P "$expected" | sed "s#$work/##" | sort -u | grep .; then
    echo "docs: the above must be mended" >&2
    exit 1
fi
mkdir -p "$FLOWER_BUILD"
rm -rf "$FLOWER_BUILD/docs"
cp -R "$work/out/html" "$FLOWER_BUILD/docs"
echo "docs: $FLOWER_BUILD/docs/index.html"
