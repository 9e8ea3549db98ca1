#!/usr/bin/env bash
# rules.sh tests the alert rules of each program as kustomize builds them (bin/kustomize must exist), against the tests in the folder tests
# beside them. It ends with status 2 if promtool is not available, after all other checks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

status=0
fail() { printf 'rules: %s\n' "$*" >&2; status=1; }

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
GOWORK=off go -C hack/tools build -buildvcs=false -o "$PWD/bin/" ./alertrules
tools=$(hack/assets.sh promtool) || tools=

# The rules in $1 use the metrics with the prefix $2 that the packages $3... export.
check() {
  local rules=$1 prefix=$2 folder figure
  shift 2
  folder=$temporary/${rules//\//-}
  mkdir "$folder"
  bin/kustomize build "$rules" | bin/alertrules . "$rules"/tests/*_test.yaml >"$folder/rules.yaml" || status=1
  # An alert on a metric that does not exist would never fire, and a panel of a dashboard would stay empty.
  while IFS= read -r figure; do
    figure=${figure%_count} figure=${figure%_bucket} # a histogram's
    grep -rqF --exclude='*_test.go' "\"${figure#"$prefix"}\"" "$@" || fail "$rules names $figure, which $* do not show"
  done < <(grep -ohE '\b(strimzi|kafka_operators)_[a-z_]+' "$rules"/{prometheusrule.yaml,dashboard.json} | sort -u)
  [ -n "$tools" ] || return 0
  cp "$rules"/tests/*_test.yaml "$folder" # promtool looks for the rules beside the tests
  "$tools/promtool" test rules "$folder"/*_test.yaml >&2 || fail "the alert rules in $rules are not as their tests want them, see above"
}

check config/topic-operator/monitoring '' topic-operator/internal/metrics operator/build operator/passes cluster-operator/internal/metrics
check config/roller/monitoring strimzi_roller_ roller/internal/metrics operator/build
check config/cluster-operator/monitoring strimzi_roller_ cluster-operator/internal/metrics clusters operator/build operator/passes \
  roller/internal/metrics

# Neither would an alert on a reason, a rule or a phase that does not exist.
while IFS= read -r reason; do
  # Only the metrics have the reason Retry: a temporary failure.
  [ "$reason" = Retry ] || grep -qF "= \"$reason\"" api/kafka/v1/condition.go ||
    fail "config/topic-operator/monitoring names the reason $reason, which no condition has"
done < <(sed -nE 's/.*reason=~?"([A-Za-z|]+)".*/\1/p' config/topic-operator/monitoring/*.yaml | tr '|' '\n' | sort -u)
while IFS= read -r word; do
  grep -qF "= \"$word\"" roller/assess.go roller/step.go || fail "config/roller/monitoring names $word, which is neither a rule nor a phase"
done < <(sed -nE 's/.*(rule|phase)=~?"([A-Za-z|]+)".*/\2/p' config/roller/monitoring/*.yaml | tr '|' '\n' | sort -u)

[ -n "$tools" ] || [ $status != 0 ] || status=2
exit $status
