#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [python|ansible]: two halves that take the same time, without an argument both at once. In each every linter runs, whatever the
# one before it said; the exit status is 1 if one of them found something. With FLOWER_CHANGED=1, ansible-lint reads only changed files.
set -uo pipefail
export NO_COLOR=1
status=0
check() {
    echo "== $1"
    shift
    "$@" || status=1
}
case "${1:-}" in
python)
    check "ruff" ruff check --quiet --output-format concise .
    check "import-linter" lint-imports --no-logo --no-cache
    check "mypy" env -u PYTHONPATH mypy --no-error-summary
    check "antsibull-changelog" antsibull-changelog lint
    # "dependent": our own, kubernetes.core and ansible.builtin; "all" would read every collection of the package `ansible`.
    check "antsibull-docs" antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=dependent --check-extra-docs-refs .
    ;;
ansible)
    check "files of roles" python tools/role_files.py --check
    check "ansible-lint (production)" python tools/ansible_lint.py ${FLOWER_CHANGED:+--changed}
    check "yamllint" yamllint --strict .
    ;;
*)
    exec python tools/together.py "bash tools/lint.sh python" "bash tools/lint.sh ansible"
    ;;
esac
exit "$status"
