#!/usr/bin/env bash
# prove.sh runs the long proofs in full (hack/tools/prove). PROVE_OUT names a file for the results, PROVE_SEED repeats a run,
# PROVE_ONLY picks proofs by a regular expression, PROVE_FUZZTIME is how long each fuzz target runs (60s).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

KUBEBUILDER_ASSETS=$(hack/assets.sh controlplane)
KAFKA_HOME=$(hack/assets.sh kafka)
export KUBEBUILDER_ASSETS KAFKA_HOME
GOWORK=off go -C hack/tools build -buildvcs=false -o "$PWD/bin/" ./prove
out=${PROVE_OUT:-}
case $out in '' | /*) ;; *) out=$PWD/$out ;; esac
exec bin/prove -out "$out" -only "${PROVE_ONLY:-}" -fuzztime "${PROVE_FUZZTIME:-60s}"
