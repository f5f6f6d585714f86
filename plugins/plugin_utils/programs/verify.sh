#!/bin/sh
# Checks this bundle: sh verify.sh FINGERPRINT
# FINGERPRINT is what the operator of the hub reads to you. Do not take it from a file of this bundle, nor from the message that brought it.
# Needs sha256sum, openssl, and the usual find, sort, sed, cut, tr. It changes nothing. PASSPORT.md has the same checks as commands to type.
set -eu
LC_ALL=C
export LC_ALL
bad() {
  echo "NOT GOOD: $*. Do not apply this bundle." >&2
  exit 1
}
cd "$(dirname "$0")"
for tool in sha256sum openssl; do
  command -v "$tool" > /dev/null || bad "this machine has no $tool"
done

there=$(openssl x509 -in hub-ca.crt -noout -fingerprint -sha256 | sed 's/.*=//' | tr -d ': ' | tr a-f A-F)
given=$(printf '%s' "$*" | sed 's/^[Ss][Hh][Aa]256://' | tr -d ': ' | tr a-f A-F)
[ -n "$given" ] || bad "no fingerprint was given. That of hub-ca.crt is $there: compare it with what the operator of the hub reads to you"
[ "$given" = "$there" ] || bad "hub-ca.crt has the fingerprint $there, and $given was given"

key=$(mktemp)
trap 'rm -f "$key"' EXIT
openssl x509 -in hub-ca.crt -noout -pubkey > "$key"
openssl dgst -sha256 -verify "$key" -signature SHA256SUMS.sig SHA256SUMS > /dev/null 2>&1 ||
  bad "SHA256SUMS was not signed by the hub"

sha256sum --check --strict --quiet SHA256SUMS || bad "a file is not what the hub wrote"

strange=$(find . ! -type d ! -type f)
[ -z "$strange" ] || bad "$strange is not a plain file"
listed=$(cut -c 67- SHA256SUMS | sort)
found=$(find . -type f ! -path ./SHA256SUMS ! -path ./SHA256SUMS.sig | sed 's,^\./,,' | sort)
[ "$listed" = "$found" ] || bad "there are files that the hub did not write, or some are missing"

echo "Good: $(sed -n 1p VERSION), written and signed by the hub whose fingerprint you gave."
