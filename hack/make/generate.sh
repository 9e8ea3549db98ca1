#!/usr/bin/env bash
# generate.sh writes all files that are generated from the Go types and their markers. bin/controller-gen and bin/crd-ref-docs
# must exist (make generate).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export GOWORK=off # as users build each module
unset GOOS GOARCH # the tools run here

# Generate into a separate folder first: files of removed kinds must be deleted, and the others must exist at all times.
crds=$(mktemp -d)
trap 'rm -rf "$crds"' EXIT
cd "$root/api"
# allowDangerousTypes: Strimzi's quotas have floating-point fields.
"$root/bin/controller-gen" object paths=./... crd:maxDescLen=400,allowDangerousTypes=true "output:crd:artifacts:config=$crds"
# No field of our specifications has a default. Kubernetes' own types have some (empty names of ConfigMaps), which the server would write
# into users' objects.
sed -i '/^ *default: ""$/d' "$crds"/*.yaml
for file in "$crds"/*.yaml; do
  target=$root/config/crd/bases/${file##*/}
  cmp -s "$file" "$target" || install -D -m 644 "$file" "$target"
done
for file in "$root"/config/crd/bases/*.yaml; do
  [ -f "$crds/${file##*/}" ] || rm "$file"
done

cd "$root/topic-operator"
"$root/bin/controller-gen" rbac:roleName=topic-operator paths=./internal/controller/... \
  "output:rbac:artifacts:config=$root/config/topic-operator/rbac"
cd "$root/cluster-operator"
"$root/bin/controller-gen" rbac:roleName=cluster-operator paths="./internal/controller/...;./podset/..." \
  "output:rbac:artifacts:config=$root/config/cluster-operator/rbac"
# In a remote Kubernetes cluster, the operator creates pods of StrimziPodSets, and little else.
"$root/bin/controller-gen" rbac:roleName=cluster-operator paths="./podset/...;./internal/misplaced/..." \
  "output:rbac:artifacts:config=$root/config/cluster-operator/overlays/remote"
cd "$root/roller"
"$root/bin/controller-gen" rbac:roleName=roller paths=./internal/app/... "output:rbac:artifacts:config=$root/config/roller/rbac"

mkdir -p "$root/docs"
cd "$root/api"
"$root/bin/crd-ref-docs" --log-level=ERROR --max-depth=20 --source-path=. --config="$root/hack/make/crd-ref-docs.yaml" \
  --renderer=markdown --output-path="$root/docs/api.md"
