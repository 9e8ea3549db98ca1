#!/usr/bin/env bash
# bad-input.sh runs the tables of bad input, and prints by area how many rows passed. A row is a subtest with one mistake of users,
# which checks the message that they get; a test without subtests is one row. The script fails if a row fails, if one of the tables below
# has no rows, or if there are fewer rows than the minimum of an area.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

KUBEBUILDER_ASSETS=$(hack/assets.sh controlplane)
export KUBEBUILDER_ASSETS

# What is counted: area, package, tests.
tables='
topics          ./e2e/apitest                           TestInvalid
topics          ./topic-operator/internal/topic         TestDesiredRefusals
topics          ./topic-operator/internal/controller    TestWhatHasNoFormInKafkaIsRefusedWithoutAskingKafka
policies        ./topic-operator/internal/policy        TestWhatIsNoPolicyIsRefusedWithWhatWouldBeOne TestEachOffendingPairIsNamed
policies        ./topic-operator/internal/policy        TestWhatCanNotBeUsedLeavesTheOldPolicyInForceAndIsToldOnce
settings        ./topic-operator/internal/options       TestWrongValuesOfSettings TestCustomSASLRefused
settings        ./roller/internal/options               TestWrongWaysToKafka
pod-sets        ./e2e/apitest                           TestInvalidPodSet
pod-sets        ./cluster-operator/podset               TestDecideRejects
pod-sets        ./roller/internal/controller            TestWrongPodSets
command-lines   ./roller/internal/options               TestWrongSettings
command-lines   ./topic-operator/internal/policy        TestWrongUsageExitsWithTwoAndSaysHow
command-lines   ./topic-operator/internal/release       TestWrongUsageOfTheCommand
kafkas-pools    ./e2e/apitest                           TestInvalidKafka TestInvalidKafkaNodePool
kafkas-pools    ./cluster-operator/internal/validate    TestWrongConfig TestReplicationThatNoClusterOfThisSizeHas TestForbiddenConfig
kafkas-pools    ./cluster-operator/internal/validate    TestWrongVersions TestWrongNames TestWrongPools TestWrongStorage TestWrongResources
kafkas-pools    ./cluster-operator/internal/validate    TestWrongMetrics TestWrongLogging TestWrongAccess TestWrongListeners
kafkas-pools    ./cluster-operator/internal/validate    TestWrongListenersToTheOutside TestWrongRoutes TestWrongCertificatesOfListeners
kafkas-pools    ./cluster-operator/internal/validate    TestWrongTemplates
kafkas-pools    ./cluster-operator/internal/controller  TestWrongSecretsMakeNothing
stretched       ./cluster-operator/internal/validate    TestWhereAKafkaIsStretched
stretched       ./cluster-operator/internal/options     TestWrongRemoteClusters
stretched       ./cluster-operator/internal/providers   TestWhatIsWrong
stretched       ./clusters                              TestAKubeconfigThatRunsOrReadsIsRefused TestAKubeconfigThatMakesNoSenseIsRefused
stretched       ./clusters                              TestWhatIsWrongWithRemotesIsSaid
stretched       ./cluster-operator/network              TestAProviderMustFitTheOperator TestWhatAProviderMayNotPlan
stretched       ./cluster-operator/network              TestWhatNodesCanNotAdvertise
stretched       ./cluster-operator/network/external     TestAProgramThatIsNoProviderIsRefused TestSettingsThatAreRefused
stretched       ./cluster-operator/network/external     TestAnErrorOfTheProvider TestACrashIsSurvived
stretched       ./cluster-operator/network/external     TestAProgramThatRestartsIsCheckedAgain TestAProgramThatHangsDoesNotHangTheOperator
'

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
status=0
# Each package once: to link its tests and to start an API server takes longer than most tables.
declare -A named rows
while read -r area package tests; do
  [ -n "$area" ] || continue
  named[$package]+="${named[$package]:+|}${tests// /|}"
done <<<"$tables"
for package in "${!named[@]}"; do
  log=$logs/${package//\//-}
  if ! go test -vet=off -count=1 -v -run "^(${named[$package]})\$" "$package" >"$log" 2>&1; then
    status=1
    grep -v '^ *--- PASS\|^=== ' "$log" >&2 || true
  fi
done
while read -r area package tests; do
  [ -n "$area" ] || continue
  log=$logs/${package//\//-}
  for test in $tests; do
    # Each distinct subtest is a row. The same one in several API versions counts once, and subtests with valid input do not count.
    count=$(sed -n "s|^    --- PASS: $test/\\(.*\\) (.*|\\1|p" "$log" | sed -E '/^legal:/d; s,/v1(beta2)?$,,' | sort -u | wc -l)
    if [ "$count" = 0 ] && grep -q "^--- PASS: $test (" "$log" && ! grep -q "^    --- .*: $test/" "$log"; then
      count=1
    fi
    printf '%-14s %-38s %-62s %4d\n' "$area" "$package" "$test" "$count"
    if [ "$count" = 0 ]; then
      echo "bad-input: $test of $package has no row that passes; was it renamed?" >&2
      status=1
    fi
    rows[$area]=$((${rows[$area]:-0} + count))
  done
done <<<"$tables"

# least fails the script if an area has fewer rows than its minimum.
least() { # least NAME ROWS MINIMUM
  printf '%-26s %4d of at least %d\n' "$@"
  if [ "$2" -lt "$3" ]; then
    echo "bad-input: $1 has $2 rows, and needs $3" >&2
    status=1
  fi
}

echo
for area in topics policies settings pod-sets command-lines; do
  printf '%-26s %4d\n' "$area" "${rows[$area]}"
done
least 'topic-operator and roller' \
  $((rows[topics] + rows[policies] + rows[settings] + rows[pod-sets] + rows[command-lines])) 150
least kafkas-pools "${rows[kafkas-pools]}" 100
least stretched "${rows[stretched]}" 60
exit $status
