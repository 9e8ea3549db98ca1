#!/usr/bin/env bash
# rules.sh tests the alert rules of config/prometheus as kustomize builds them (bin/kustomize must exist), against the tests in
# config/prometheus/tests. It ends with status 2 if promtool could not be had, after everything else was checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

status=0
fail() { printf 'rules: %s\n' "$*" >&2; status=1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GOWORK=off go -C hack/tools build -buildvcs=false -o "$PWD/bin/" ./alertrules
bin/kustomize build config/prometheus | bin/alertrules . config/prometheus/tests/*_test.yaml >"$folder/rules.yaml" || status=1

# An alert on a figure or a reason that does not exist would never fire.
mapfile -t figures < <(grep -ohE '\bstrimzi_[a-z_]+' config/prometheus/*.yaml | sort -u)
for figure in "${figures[@]}"; do
  grep -rqF --exclude='*_test.go' "\"$figure\"" topic-operator/internal/metrics || fail "config/prometheus names $figure, which the topic operator does not show"
done
mapfile -t reasons < <(sed -nE 's/.*reason="([A-Za-z]+)".*/\1/p' config/prometheus/*.yaml | sort -u)
for reason in "${reasons[@]}"; do
  grep -qF "= \"$reason\"" api/kafka/v1/condition.go || fail "config/prometheus names the reason $reason, which no condition has"
done

if tools=$(hack/assets.sh promtool); then
  cp config/prometheus/tests/*_test.yaml "$folder" # promtool looks for the rules beside the tests
  "$tools/promtool" test rules "$folder"/*_test.yaml >&2 || fail "the alert rules are not as their tests want them, see above"
elif [ $status = 0 ]; then
  status=2
fi
exit $status
