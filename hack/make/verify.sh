#!/usr/bin/env bash
# verify.sh MODULE... checks everything that needs no running program: generated files are what the generators write and
# are committed, PROJECT is correct, the manifests build, the alert rules pass their tests, and every module is tidy and builds
# without the workspace. Its last lines name the checks that could not run; with CI=true that is a failure.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" # the results are not kept, and another user may own the checkout

failures=()
fail() { printf 'verify: %s\n' "$*" >&2; failures+=("$*"); }

# Compare the files before and after, rather than with git: uncommitted work is no failure.
generated() {
  find config docs api -type f \( -path 'config/crd/bases/*' -o -name role.yaml -o -name 'zz_generated*' -o -path docs/api.md \) \
    -exec sha256sum {} + | sort -k2
}
mkdir -p docs
before=$(generated)
hack/make/generate.sh
after=$(generated)
if ! changed=$(diff <(printf '%s\n' "$before") <(printf '%s\n' "$after")); then
  printf '%s\n' "$changed" >&2
  fail "generated files were out of date; make generate has been run, commit the result"
fi
untracked=$(git ls-files --others --exclude-standard -- config/crd/bases 'config/**/role.yaml' docs/api.md 'api/**/zz_generated*')
[ -z "$untracked" ] || fail "generated files are not committed: $untracked"

GOWORK=off go -C hack/tools build -buildvcs=false -o "$root/bin/" ./verify
bin/verify . || fail "PROJECT and the CRDs are not true to the code, see above"
mapfile -t kustomizations < <(grep -rlx --include=kustomization.yaml 'kind: Kustomization' config | sort)
for file in "${kustomizations[@]}"; do
  bin/kustomize build "${file%/*}" >/dev/null || fail "${file%/*} does not build"
done
# All Deployments have the same structure of folders.
for program in topic-operator roller cluster-operator; do
  for part in default manager monitoring overlays/example rbac; do
    [ -f "config/$program/$part/kustomization.yaml" ] ||
      fail "config/$program/$part/kustomization.yaml is missing, which the other Deployments have"
  done
  installed=$(bin/kustomize build "config/$program/default" | grep '^kind: ' | sort -u)
  for kind in Deployment NetworkPolicy PodDisruptionBudget; do
    grep -qx "kind: $kind" <<<"$installed" || fail "config/$program/default has no $kind"
  done
done
# What an overlay that users copy must set itself, because no default can be right.
required() {
  case $1 in
    config/roller/overlays/all-namespaces | */administrator) ;; # config/default builds on the one; the other has no Deployment
    config/topic-operator/overlays/tls)
      echo newName STRIMZI_KAFKA_BOOTSTRAP_SERVERS STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME STRIMZI_TLS_SECRET_NAME resourceNames ;;
    config/topic-operator/*) echo newName STRIMZI_KAFKA_BOOTSTRAP_SERVERS ;;
    config/cluster-operator/overlays/remote | config/roller/*) echo newName ;;
    config/cluster-operator/overlays/remote-namespace) echo newName STRIMZI_NAMESPACE ;;
    *) echo newName STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE ;;
  esac
}
mapfile -t overlays < <(printf '%s\n' "${kustomizations[@]}" | grep /overlays/)
copied=$(mktemp -d)
trap 'rm -rf "$copied"' EXIT
for file in "${overlays[@]}"; do
  for setting in $(required "${file%/*}"); do
    grep -qE "\\b$setting\\b" "$file" || fail "$file does not set $setting, and users copy that folder"
  done
  # Set to another namespace, everything is there, and the accounts in it have the rights.
  printf 'namespace: other\nresources: [%s]\n' "$(realpath --relative-to="$copied" "${file%/*}")" >"$copied/kustomization.yaml"
  built=$(bin/kustomize build "$copied")
  if left=$(grep '^ *namespace: ' <<<"$built" | grep -v ': other$'); then
    fail "$file leaves objects or accounts in their namespaces when another one is set: $left"
  fi
  accounts=$(grep -c '^- kind: ServiceAccount' <<<"$built" || true)
  [ "$accounts" = "$(grep -A2 '^- kind: ServiceAccount' <<<"$built" | grep -c '^  namespace: other$' || true)" ] ||
    fail "$file has a binding with an account of no namespace"
done
# As docs/install.md says for an older version: the kinds stay as they are.
for file in "${overlays[@]}"; do
  printf 'resources: [%s]\ncomponents: [%s]\n' "$(realpath --relative-to="$copied" "${file%/*}")" \
    "$(realpath --relative-to="$copied" config/components/existing-kinds)" >"$copied/kustomization.yaml"
  built=$(bin/kustomize build "$copied") || fail "$file does not build without the kinds"
  ! grep -qx 'kind: CustomResourceDefinition' <<<"$built" || fail "$file has kinds in spite of the component that leaves them out"
done
# Applied as they are, the accounts in other Kubernetes clusters have the rights.
for folder in config/*/remote; do
  built=$(bin/kustomize build "$folder")
  [ "$(grep -c '^- kind: ServiceAccount' <<<"$built")" = "$(grep -A2 '^- kind: ServiceAccount' <<<"$built" | grep -c '^  namespace: ')" ] ||
    fail "$folder has a binding with an account of no namespace"
done
# As docs/install.md says for a namespace that exists: nothing relabels or deletes it.
cp -r config "$copied"
for file in "${overlays[@]}"; do
  sed -i -E 's/^( *)# (.*existing-namespace.*)/\1\2/; s/^namespace: .*/namespace: kafka/' "$copied/$file"
  built=$(bin/kustomize build "$copied/${file%/*}") || fail "$file does not build for a namespace that exists"
  ! grep -qx 'kind: Namespace' <<<"$built" || fail "$file has a Namespace object also for a namespace that exists"
done
release=$(sed -n 's/^const Release = "\(.*\)"$/\1/p' operator/build/build.go)
if other=$(grep -rnE 'newTag:|(cluster-operator|topic-operator|roller):[0-9a-z]' --include='*.yaml' config |
  grep -vE "(newTag: |:)${release//./\\.}\$"); then
  fail "images have another tag than operator/build says ($release): $other"
fi

grep -qE -- "--build-arg VERSION='$release' --build-arg REVISION='[0-9a-f]{40}(-dirty)?'" <<<"$(make -n docker-build)" ||
  fail "make docker-build does not tell the image its release and commit"

unrun=()
rules=0
hack/make/rules.sh || rules=$?
case $rules in
  0) ;;
  2) unrun+=("the tests of the alert rules: hack/assets.sh promtool failed, see above") ;;
  *) fail "the alert rules are not in order, see above" ;;
esac
[ "${CI:-}" != true ] || failures+=("${unrun[@]/#/could not run: }")

# A misspelled setting in config/ would be ignored silently.
for program in topic-operator roller cluster-operator; do
  mapfile -t settings < <(grep -rhoE --include='*.yaml' 'STRIMZI_[A-Z_]+' "config/$program" | sort -u)
  for setting in "${settings[@]}"; do
    grep -rqF "\"$setting\"" "$program/internal/options" operator || fail "config/$program sets $setting, which the $program does not know"
  done
done

for module in "$@" hack/tools; do
  GOWORK=off go -C "$module" mod tidy -diff || fail "$module/go.mod is not tidy: run GOWORK=off go -C $module mod tidy"
done
for module in "$@"; do
  GOWORK=off go -C "$module" build ./... || fail "$module does not build without the workspace"
done

if [ ${#failures[@]} -gt 0 ]; then
  printf 'verify: FAILED\n' >&2
  printf '  %s\n' "${failures[@]}" >&2
  exit 1
fi
echo "verify: generated files, PROJECT, manifests, alert rules and modules are in order"
[ ${#unrun[@]} = 0 ] || printf 'verify: could not run: %s\n' "${unrun[@]}"
