#!/usr/bin/env bash
# lint.sh PACKAGE... runs golangci-lint over the packages and shellcheck over all scripts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

status=0
linter=$(hack/assets.sh lint)/golangci-lint
"$linter" config verify
"$linter" run --allow-serial-runners "$@" || status=1

if ! command -v shellcheck >/dev/null && [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends shellcheck; } \
    >/dev/null 2>&1 || true
fi
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run)
if command -v shellcheck >/dev/null; then
  shellcheck "${scripts[@]}" || status=1
else
  echo "lint: the shell scripts were not checked: shellcheck is missing (Debian: apt-get install shellcheck)" >&2
fi

# Comments refer only to sources that a reader of the repository can open: pages of docs/, KIPs, classes of Kafka and Strimzi.
hidden='\b([Ss]eeds? 00[0-9]|[Rr]ulings? [A-Z][0-9]|[Gg]oals? G[0-9]|RULINGS)|reference/[a-z-]+\.md'
hidden+='|\((ruling |see )?[DGHKORST][0-9]{1,2}[):]'
if found=$(git grep -nIE "$hidden" -- . ':!hack/make/lint.sh' ':!*.sum' ':!*/testdata/*'); then
  printf '%s\n' "$found"
  echo "lint: say it in plain words, or refer to a page of docs/decisions" >&2
  status=1
fi
# Lines of Markdown have the same limit as those of Go, except for tables and quotes. docs/api.md is generated.
while IFS= read -r page; do
  # shellcheck disable=SC2016 # these backticks are Markdown's
  if long=$(sed '/^ *```/,/^ *```/d; /^ *|/d' "$page" | LC_ALL=C.UTF-8 grep -E '^.{141,}$'); then
    printf '%s: %s\n' "$page" "$long"
    echo "lint: wrap these lines at 140 characters" >&2
    status=1
  fi
done < <(git ls-files '*.md' ':!docs/api.md')
# So have those of scripts. What starts a node is left as it is: it is in the node's manifest, so a change restarts nodes.
for script in "${scripts[@]}"; do
  [ "$script" != cluster-operator/internal/model/scripts/start.sh ] || continue
  if long=$(LC_ALL=C.UTF-8 grep -nE '^.{141,}$' "$script"); then
    printf '%s: %s\n' "$script" "$long"
    echo "lint: wrap these lines at 140 characters" >&2
    status=1
  fi
done
# A nolint comment for a linter that is off has no effect, and nolintlint does not report it.
for linter in $(git grep -hoE '//nolint:[a-z,]+' -- '*.go' | sed 's|//nolint:||; s|,|\n|g' | sort -u); do
  grep -qE "^    - $linter( |$)" .golangci.yml || { echo "lint: //nolint:$linter: that linter is not enabled" >&2; status=1; }
done
missing=$(git grep -hoE 'docs/decisions/[a-z-]+\.md' -- . | sort -u | while IFS= read -r page; do [ -f "$page" ] || echo "$page"; done)
[ -z "$missing" ] || { echo "lint: these pages do not exist: $missing" >&2; status=1; }

[ $status = 0 ] && echo "lint: nothing found"
exit $status
