#!/usr/bin/env bash
# test.sh PACKAGE... runs the tests with all real programs that are available, and prints in its last lines what could not run and
# why. With CI=true that is a failure. TEST_ARGS adds arguments to go test, such as -run or -count.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 1

unrun=() # tests that cannot be started
if folder=$(hack/assets.sh controlplane); then
  export KUBEBUILDER_ASSETS=$folder
else
  unrun+=("tests on a real API server: hack/assets.sh controlplane failed, see above")
fi
if folder=$(hack/assets.sh kafka); then
  export KAFKA_HOME=$folder
else
  unrun+=("tests on real Kafka: hack/assets.sh kafka failed, see above")
fi
# Before the tests, which have timeouts.
hack/assets.sh images >/dev/null || unrun+=("tests on real nodes: hack/assets.sh images failed, see above")

# One set of flags for all packages: each further set would compile Kubernetes' libraries again.
flags=(-timeout 40m -p "${TEST_P:-2}")
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null; then
  flags+=(-race)
else
  unrun+=("the race detector: it needs a C compiler (Debian: apt-get install gcc libc6-dev)")
fi

# Tests on real Kafkas and nodes run after the others, which use all processors: a JVM that starts beside them takes minutes.
fast=() real=()
for package in "$@"; do
  case $package in ./e2e/*) real+=("$package") ;; *) fast+=("$package") ;; esac
done
status=0 events=()
rm -f bin/test*.json bin/junit*.xml
for kind in fast real; do
  declare -n packages=$kind
  [ ${#packages[@]} -gt 0 ] || continue
  # go test knows only the sources of the module e2e, and not those of the programs that its tests build: it would answer from its cache
  # though a program has changed.
  [ $kind = fast ] || flags+=(-count=1)
  events+=("bin/test-$kind.json")
  # shellcheck disable=SC2086 # TEST_ARGS holds several arguments
  bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped --jsonfile "bin/test-$kind.json" \
    --junitfile "bin/junit-$kind.xml" -- "${flags[@]}" ${TEST_ARGS:-} "${packages[@]}" || status=1
done

cat "${events[@]}" >bin/test.json
bin/gotestsum tool slowest --num 10 --threshold 10s --jsonfile bin/test.json | sed 's/^/slow: /'

strict=()
[ "${CI:-}" != true ] || strict=(-strict)
GOWORK=off go -C hack/tools test -buildvcs=false ./... || status=1
GOWORK=off go -C hack/tools build -buildvcs=false -o "$root/bin/" ./testreport || exit 1
printf '%s\n' "${unrun[@]}" | bin/testreport "${strict[@]}" "${events[@]}" || status=1
exit $status
