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

# Each set of flags compiles Kubernetes' libraries again. There are two: one with the race detector, and that of the Makefile, which the
# programs that tests build have too.
flags=(-timeout 40m -vet=off) race=() cgo=CGO_ENABLED=0 # lint.sh vets
if command -v "$(go env CC)" >/dev/null; then
  race=(-race -trimpath=false) cgo=CGO_ENABLED=1 # as developers test
else
  unrun+=("the race detector: it needs a C compiler (Debian: apt-get install gcc libc6-dev)")
fi

# Tests on real Kafkas and nodes run after the others, which use all processors: a JVM that starts beside them takes minutes.
fast=() real=()
for package in "$@"; do
  case $package in
    ./e2e/...) real+=(./e2e/{roller,clusteroperator,stretch,demo,rollernodes,dropin,topicoperator} "$package") ;; # the longest first
    ./e2e/*) real+=("$package") ;;
    *) fast+=("$package") ;;
  esac
done
# Proofs by models do one thing at a time, and the race detector makes them take five to ten times as long. They need no API server.
proofs='Histor|TestRandom|PlantedFault|TheModelFinds|TheOracleFinds|EveryCombination|EveryInterleaving|ARefill|IgnoredSilently'
proofs+='|WhatProtects|WrongManifests'
models=()
if [ ${#fast[@]} -gt 0 ]; then
  files=$(go list -f '{{range .TestGoFiles}}{{$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$.Dir}}/{{.}} {{end}}' "${fast[@]}") || exit 1
  # shellcheck disable=SC2034 # the loop below uses it by its name
  mapfile -t models < <(xargs -r grep -lE "^func (Test[A-Za-z0-9]*)?($proofs)" <<<"$files" | xargs -r -n 1 dirname | sort -u)
fi
skip=(-skip "$proofs")
if [[ " ${TEST_ARGS:-}" == *" -run"* ]]; then # which asks for tests, that run once
  # shellcheck disable=SC2034 # as above
  models=()
  skip=()
fi
status=0 events=()
rm -f bin/test*.json bin/junit*.xml
for kind in fast models real; do
  declare -n packages=$kind
  [ ${#packages[@]} -gt 0 ] || continue
  case $kind in
    # As hack/tools/prove: tests allocate much and keep little, and so do the API servers that they start.
    fast) atonce=2 environment=("$cgo" GOGC=400) arguments=("${race[@]}" "${skip[@]}") ;;
    models)
      atonce=2 environment=(GOGC=400 CGO_ENABLED=0 KUBEBUILDER_ASSETS=/none) arguments=(-trimpath -buildvcs=false -run "$proofs") ;;
    # They wait more than they compute. go test knows only the sources of the module e2e, and not those of the programs that its tests
    # build: it would answer from its cache though a program has changed.
    real) atonce=3 environment=("$cgo") arguments=("${race[@]}" -count=1) ;;
  esac
  events+=("bin/test-$kind.json")
  # shellcheck disable=SC2086 # TEST_ARGS holds several arguments
  env "${environment[@]}" bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped \
    --jsonfile "bin/test-$kind.json" --junitfile "bin/junit-$kind.xml" -- "${flags[@]}" -p "${TEST_P:-$atonce}" \
    "${arguments[@]}" ${TEST_ARGS:-} "${packages[@]}" || status=1
done

strict=()
[ "${CI:-}" != true ] || strict=(-strict)
GOWORK=off go -C hack/tools test -buildvcs=false ./... || status=1
GOWORK=off go -C hack/tools build -buildvcs=false -o "$root/bin/" ./testreport || exit 1
printf '%s\n' "${unrun[@]}" | bin/testreport "${strict[@]}" "${events[@]}" || status=1
exit $status
