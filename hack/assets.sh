#!/usr/bin/env bash
# assets.sh builds or fetches the programs that tests and the demo need, once, into a cache outside the work tree:
#
#   assets.sh controlplane   kube-apiserver, etcd, kube-controller-manager and kubectl, compiled from their Go modules
#   assets.sh kafka          the jars of Apache Kafka, through Maven
#   assets.sh nodes          the programs of a Kubernetes node, compiled from Go modules: kubelet, kube-proxy, kube-scheduler,
#                            containerd, runc, CNI plugins, CoreDNS
#   assets.sh images         container images, made here: pause, CoreDNS, two versions of Kafka with a Java runtime
#   assets.sh exporter       the JMX exporter that is in the image of the cluster operator, through Maven
#   assets.sh lint           golangci-lint, compiled from its Go module
#   assets.sh promtool       promtool, out of Debian's package of Prometheus, unless it is installed
#
# It prints the folder that holds the result as its only line on standard output; progress goes to standard error.
# KUBEBUILDER_ASSETS (control plane) and KAFKA_HOME (Kafka) name an existing folder to use instead.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${KAFKA_OPERATORS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kafka-operators}

say() { printf '%s\n' "$*" >&2; }
die() { say "assets: $*"; exit 1; }

# install_package PACKAGE WHAT_FOR: installs a Debian package if possible. The caller checks whether it worked.
install_package() {
  [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] || return 0
  say "assets: installing $1 (for $2)"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1"; } >&2 || true
}

# need COMMAND PACKAGE: installs the Debian package with the command, or prints its name.
need() {
  command -v "$1" >/dev/null 2>&1 && return
  install_package "$2" "$1"
  command -v "$1" >/dev/null 2>&1 || die "$1 is missing: install it (Debian: apt-get install $2)"
}

# need_seccomp: runc filters system calls by means of a C library, and is linked with it so that it runs anywhere.
need_seccomp() {
  local header=/usr/include/seccomp.h
  [ -f $header ] || install_package libseccomp-dev runc
  [ -f $header ] || die "$header is missing, which runc needs: install it (Debian: apt-get install libseccomp-dev)"
}

# need_root WHAT
need_root() { [ "$(id -u)" = 0 ] || die "$1 need root: namespaces, cgroups and mounts are made for them"; }

# need_java: Kafka 4 runs on Java 17 or later; Debian's default is new enough.
need_java() {
  need java default-jre-headless
  local major
  major=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  [ "${major:-0}" -ge 17 ] || die "java is ${major:-unknown}, Kafka needs 17 or later (Debian: apt-get install default-jre-headless)"
}

# pulse PID WHAT: prints every 15 s that a long step is still running.
pulse() {
  local began=$SECONDS
  while kill -0 "$1" 2>/dev/null; do
    for _ in $(seq 15); do kill -0 "$1" 2>/dev/null || return 0; sleep 1; done
    say "assets: $2 ... $((SECONDS - began)) s"
  done
}

# exclusive NAME: waits until no other process prepares the asset. The lock belongs to open file 9, which the preparing job has
# too: if this script is killed and its job continues, no other process starts a second one in the same folder.
exclusive() {
  need flock util-linux
  exec 9>"$cache/.$1.lock"
  flock -n 9 && return
  say "assets: $1 is being prepared by another process; waiting"
  # Wait in short steps, because bash handles signals only between commands.
  until flock -w 2 9; do :; done
}

# once NAME VERSION FUNCTION: runs FUNCTION with an empty folder unless cache/NAME-VERSION is already complete.
# Concurrent callers wait for each other; an incomplete folder is never used.
once() {
  local dir=$cache/$1-$2
  if [ ! -f "$dir/.complete" ]; then
    mkdir -p "$cache"
    exclusive "$1"
    [ -f "$dir/.complete" ] || make_asset "$dir" "$@"
    exec 9>&-
  fi
  printf '%s\n' "$dir"
}

# make_asset DIR NAME VERSION FUNCTION
make_asset() {
  rm -rf "$1" "$1.part"
  mkdir -p "$1.part"
  say "assets: preparing $2 $3 (once; kept in $cache)"
  set -m # the job gets its own process group, so that all of it can be killed
  "$4" "$1.part" >&2 &
  local job=$!
  set +m
  pulse "$job" "preparing $2" 9>&- &
  local watcher=$!
  # shellcheck disable=SC2064 # the present job
  trap "kill -TERM -- -$job 2>/dev/null; kill $watcher 2>/dev/null; exit 130" INT TERM HUP
  if ! wait "$job"; then kill "$watcher" 2>/dev/null || true; die "preparing $2 failed, see above"; fi
  trap - INT TERM HUP
  kill "$watcher" 2>/dev/null || true
  touch "$1.part/.complete"
  mv "$1.part" "$1"
}

# for_this_machine: builds for this machine, regardless of the caller's target, with the pinned versions.
for_this_machine() {
  command -v go >/dev/null || die "go is missing: install Go 1.26 or later (distributions' packages are often older)"
  GOOS=$(go env GOHOSTOS) GOARCH=$(go env GOHOSTARCH)
  export GOOS GOARCH GOFLAGS='' GOWORK=off CGO_ENABLED=0
}

# kubernetes_ldflags: flags that set the version of Kubernetes' programs to that of the module in the current folder.
kubernetes_ldflags() {
  local version minor package=k8s.io/component-base/version
  version=$(pinned k8s.io/kubernetes)
  minor=${version#v1.}; minor=${minor%%.*}
  printf '%s' "-s -w -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor"
}

# pinned MODULE: the version in the go.mod of the current folder.
pinned() { go list -m -f '{{.Version}}' "$1"; }

build_controlplane() {
  local out=$1 ldflags
  for_this_machine
  cd "$here/controlplane"
  ldflags=$(kubernetes_ldflags)
  go build -trimpath -ldflags "$ldflags" -o "$out/" k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kubectl}
  go build -trimpath -ldflags '-s -w' -o "$out/etcd" go.etcd.io/etcd/server/v3
}

# fetch_jars FOLDER POM [ARGUMENT...]: Maven's further arguments.
fetch_jars() {
  local out=$1 pom=$2
  shift 2
  need mvn maven
  mvn -q -B -Dstyle.color=never -f "$pom" "$@" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$out"
}

# fetch_kafka FOLDER [ARGUMENT...]: Maven's further arguments.
fetch_kafka() {
  local out=$1
  shift
  fetch_jars "$out/libs" "$here/kafka/pom.xml" "$@"
  ls "$out"/libs/kafka_2.13-*.jar >/dev/null
}

# The name without the version is where the operator looks for it.
fetch_exporter() {
  fetch_jars "$1" "$here/jmx-exporter/pom.xml" -Dmdep.stripVersion=true
  ls "$1/jmx_prometheus_javaagent.jar" >/dev/null
}

# previous_kafka is the version from which upgrades start.
previous_kafka=4.2.0
fetch_previous_kafka() { fetch_kafka "$1" "-Dkafka.version=$previous_kafka"; }

build_nodes() {
  local out=$1 ldflags module
  for_this_machine
  cd "$here/nodes/kubernetes"
  ldflags=$(kubernetes_ldflags)
  [ "$(pinned k8s.io/kubernetes)" = "$(cd "$here/controlplane" && pinned k8s.io/kubernetes)" ] ||
    die "hack/nodes/kubernetes and hack/controlplane pin different versions"
  go build -trimpath -ldflags "$ldflags" -o "$out/" k8s.io/kubernetes/cmd/{kubelet,kube-proxy,kube-scheduler}

  cd "$here/nodes/containerd"
  module=github.com/containerd/containerd/v2
  ldflags="-s -w -X $module/version.Version=$(pinned $module)"
  go build -trimpath -tags 'no_btrfs no_devmapper no_zfs no_tracing' -ldflags "$ldflags" -o "$out/" \
    $module/cmd/{containerd,containerd-shim-runc-v2,ctr}

  cd "$here/nodes/cni"
  module=github.com/containernetworking/plugins
  go build -trimpath -ldflags '-s -w' -o "$out/" \
    $module/plugins/main/{ptp,loopback} $module/plugins/ipam/host-local $module/plugins/meta/portmap

  cd "$here/nodes/coredns"
  go build -trimpath -ldflags '-s -w' -o "$out/coredns" .

  cd "$here/nodes/runc"
  module=github.com/opencontainers/runc
  ldflags="-s -w -extldflags=-static -X main.version=$(pinned $module)"
  CGO_ENABLED=1 go build -trimpath -tags 'seccomp netgo osusergo' -ldflags "$ldflags" -o "$out/runc" $module
}

# The Java modules that Kafka and the JMX exporter need. Without java.desktop, which java.se includes, Kafka's storage tool does not start.
java_modules=java.se,jdk.crypto.ec,jdk.httpserver,jdk.management,jdk.management.agent,jdk.unsupported,jdk.zipfs
java_modules+=,jdk.jcmd,jdk.net,jdk.security.auth,jdk.security.jgss,jdk.naming.dns
# Only the first compiler, as in kafka/kafkatest/realkafka, unless the command line says otherwise: a node of tests runs for minutes, and
# needs two thirds of the processor time to start.
java_options=-XX:TieredStopAtLevel=1

# build_images FOLDER: reads $nodes, $kafka and $previous, the folders of these assets.
build_images() {
  local out=$1
  for_this_machine
  jlink --strip-java-debug-attributes --no-header-files --no-man-pages --add-options $java_options --output "$out/jre" \
    --add-modules $java_modules
  cd "$here/../e2e"
  go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$out/tools/" ./realnodes/internal/cmd/{images,pause}
  "$out/tools/images" -out "$out" -nodes "$nodes" -pause "$out/tools/pause" \
    -jars "$kafka/libs" -previous-jars "$previous/libs" -jre "$out/jre"
  rm -r "$out/jre" "$out/tools"
}

build_lint() {
  for_this_machine
  cd "$here/tools/lint"
  go build -trimpath -ldflags '-s -w' -o "$1/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
}

no_promtool() { die "promtool is missing: install it (Debian: apt-get install prometheus)"; }

# fetch_promtool extracts promtool from the package. Installing the package would start a server.
fetch_promtool() {
  mkdir "$1/package"
  cd "$1/package"
  if ! apt-get download -qq -o APT::Sandbox::User=root prometheus 2>/dev/null; then
    # The package lists are outdated or, as in most images, missing.
    [ "$(id -u)" != 0 ] || apt-get update -qq || true
    apt-get download -qq -o APT::Sandbox::User=root prometheus || no_promtool
  fi
  dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x -C "$1" --strip-components=3 ./usr/bin/promtool
  cd "$1"
  rm -r package
  ./promtool --version
}

# stamp FILE...: a version that changes when the pins do.
stamp() { cat "$@" | sha256sum | cut -c1-12; }

case ${1:-} in
  controlplane)
    if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
      for p in kube-apiserver etcd; do [ -x "$KUBEBUILDER_ASSETS/$p" ] || die "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS holds no $p"; done
      printf '%s\n' "$KUBEBUILDER_ASSETS"
    else
      once controlplane "$(stamp "$here/controlplane/go.mod" "$here/controlplane/controlplane.go")" build_controlplane
    fi ;;
  kafka)
    if [ -n "${KAFKA_HOME:-}" ]; then
      [ -d "$KAFKA_HOME/libs" ] || die "KAFKA_HOME=$KAFKA_HOME holds no libs folder"
      need_java
      printf '%s\n' "$KAFKA_HOME"
    else
      need_java
      once kafka "$(stamp "$here/kafka/pom.xml")" fetch_kafka
    fi ;;
  nodes)
    need_root nodes
    need nft nftables # kube-proxy and the CNI plugins run it
    need gcc gcc
    need_seccomp
    once nodes "$(stamp "$here"/nodes/*/*.go "$here"/nodes/*/go.mod)" build_nodes ;;
  images)
    need_root images
    need_java
    need jlink openjdk-17-jdk-headless
    need busybox busybox
    nodes=$("${BASH_SOURCE[0]}" nodes)
    kafka=$("${BASH_SOURCE[0]}" kafka)
    previous=$(once kafka-previous "$(stamp "$here/kafka/pom.xml" <(echo $previous_kafka))" fetch_previous_kafka)
    mapfile -t sources < <(
      find "$here"/../e2e/realnodes/{image,internal/stock,internal/cmd/images,internal/cmd/pause} -name '*.go' ! -name '*_test.go' | sort
    )
    java=$(printf '%s\n' $java_modules $java_options; jlink --version)
    once images "$(stamp <(printf '%s\n' "$nodes" "$kafka" "$previous" "$java") "${sources[@]}")" build_images ;;
  exporter)
    need_java
    once exporter "$(stamp "$here/jmx-exporter/pom.xml")" fetch_exporter ;;
  lint) once golangci-lint "$(stamp "$here/tools/lint/go.mod")" build_lint ;;
  promtool)
    if installed=$(command -v promtool); then
      dirname "$installed"
    elif ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
      no_promtool
    else
      once promtool "$(stamp /etc/os-release)" fetch_promtool
    fi ;;
  *) die "usage: assets.sh controlplane|kafka|nodes|images|exporter|lint|promtool" ;;
esac
