#!/usr/bin/env bash
# lint.sh PACKAGE... runs golangci-lint over the packages and shellcheck over all scripts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

status=0
linter=$(hack/assets.sh lint)/golangci-lint
"$linter" config verify
"$linter" run --allow-serial-runners "$@" || status=1

if ! command -v shellcheck >/dev/null && [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends shellcheck; } >/dev/null 2>&1 || true
fi
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run)
if command -v shellcheck >/dev/null; then
  shellcheck "${scripts[@]}" || status=1
else
  echo "lint: the shell scripts were not checked: shellcheck is missing (Debian: apt-get install shellcheck)" >&2
fi
[ $status = 0 ] && echo "lint: nothing found"
exit $status
