# Thin: what takes more than a line is a script in hack/make. Everything works in a fresh clone with Go, make, git and bash;
# what else is needed is built or installed by hack/assets.sh, or named in one line.
SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# All that is compiled has these flags, except tests with the race detector. With others, Go would compile Kubernetes' libraries again.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

MODULES := $(shell sed -n 's|^[[:space:]]*\./||p' go.work)
PACKAGES := $(MODULES:%=./%/...)
OPERATOR ?= topic-operator
RELEASE := $(shell sed -n 's/^const Release = "\(.*\)"$$/\1/p' operator/build/build.go)
IMAGE ?= kafka-operators/$(OPERATOR):$(RELEASE)
REVISION ?= $(shell git describe --always --abbrev=40 --dirty --exclude='*' 2>/dev/null)
# Where `make run` finds what to follow.
STRIMZI_NAMESPACE ?= default
STRIMZI_KAFKA_BOOTSTRAP_SERVERS ?= localhost:9092

##@ Every day

.PHONY: help
help: ## Show this.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' Makefile

.PHONY: generate
generate: bin/controller-gen bin/crd-ref-docs ## Generate deepcopy, CRDs, roles and docs/api.md from the Go types and their markers.
	hack/make/generate.sh

.PHONY: build
build: ## Build bin/topic-operator, bin/cluster-operator and bin/roller.
	go build -ldflags '-s -w' -o bin/cluster-operator ./cluster-operator/cmd
	go build -ldflags '-s -w' -o bin/topic-operator ./topic-operator/cmd
	go build -ldflags '-s -w' -o bin/roller ./roller/cmd

.PHONY: run
run: ## Run the topic operator here, against the current kubeconfig (STRIMZI_NAMESPACE, STRIMZI_KAFKA_BOOTSTRAP_SERVERS, ...).
	STRIMZI_NAMESPACE='$(STRIMZI_NAMESPACE)' STRIMZI_KAFKA_BOOTSTRAP_SERVERS='$(STRIMZI_KAFKA_BOOTSTRAP_SERVERS)' \
	go run ./topic-operator/cmd

.PHONY: demo
demo: ## Show it all on this machine: a control plane, a Kafka (KAFKA=real for the real one), the operator, the samples.
	go run ./e2e/cmd/demo up

.PHONY: demo-down
demo-down: ## End the demo.
	go run ./e2e/cmd/demo down

.PHONY: demo-roller
demo-roller: ## Show the roller: a real Kafka of three nodes is restarted while records are written. Leaves nothing behind.
	go run ./e2e/cmd/demo roller

.PHONY: demo-cluster
demo-cluster: ## Show the cluster operator: a real Kubernetes cluster (Linux, root), a Kafka of three nodes, a rolling change, a killed pod.
	go run ./e2e/cmd/demo cluster

.PHONY: demo-cluster-down
demo-cluster-down: ## End that demo.
	go run ./e2e/cmd/demo cluster-down

.PHONY: demo-stretch
demo-stretch: ## Show a Kafka over three real Kubernetes clusters (Linux, root), one of which loses its power while records are written.
	go run ./e2e/cmd/demo stretch

.PHONY: demo-stretch-down
demo-stretch-down: ## End that demo.
	go run ./e2e/cmd/demo stretch-down

##@ Proof

.PHONY: verify
verify: bin/controller-gen bin/crd-ref-docs bin/kustomize ## Check that generated files are up to date, PROJECT is true, and every module stands alone.
	hack/make/verify.sh $(MODULES)

.PHONY: lint
lint: ## Check style and the direction of imports in all modules, and the shell scripts.
	hack/make/lint.sh $(PACKAGES)

.PHONY: test
test: bin/gotestsum ## Run all tests of all modules, those on real Kafka and a real API server included; say what could not run.
	hack/make/test.sh $(PACKAGES)

.PHONY: bad-input
bad-input: ## Play the tables of bad input, and print how many rows each area has.
	hack/make/bad-input.sh

.PHONY: prove
prove: ## Run the long proofs in full, some hours; PROVE_OUT names the file for the results (PROVE_ONLY, PROVE_SEED, PROVE_FUZZTIME).
	hack/make/prove.sh

.PHONY: bench
bench: ## Measure, on the real parts; BENCH_OUT names the file for the figures.
	go run ./e2e/cmd/bench

##@ Release

.PHONY: docker-build
docker-build: ## Build the image of an operator (OPERATOR=topic-operator, cluster-operator or roller, IMAGE=name:tag).
	@command -v docker >/dev/null || { echo 'docker is missing: install it, or build the Dockerfile with another builder' >&2; exit 1; }
	docker build --build-arg OPERATOR='$(OPERATOR)' --build-arg VERSION='$(RELEASE)' --build-arg REVISION='$(REVISION)' -t '$(IMAGE)' .

# Tools are pinned in hack/tools/go.mod, outside of the workspace, so that they cannot move the products' versions.
bin/controller-gen: TOOL = sigs.k8s.io/controller-tools/cmd/controller-gen
bin/crd-ref-docs: TOOL = github.com/elastic/crd-ref-docs
bin/kustomize: TOOL = sigs.k8s.io/kustomize/kustomize/v5
bin/gotestsum: TOOL = gotest.tools/gotestsum
bin/%: hack/tools/go.mod hack/tools/go.sum
	@mkdir -p bin
	GOWORK=off go -C hack/tools build -o '$(CURDIR)/bin/' $(TOOL)
	@touch $@
