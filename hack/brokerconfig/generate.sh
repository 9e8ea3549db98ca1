#!/usr/bin/env bash
# generate.sh [VERSION...] writes kafka/configdef/tables/kafka-VERSION.tsv: what Apache Kafka's own classes say of the configuration of
# its nodes.
# Without arguments, for each version in versions.txt. A version's jars come through Maven, into a temporary folder unless they are those of
# hack/assets.sh. A new version of Kafka needs a line in versions.txt and a run of this script.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/kafka/configdef/tables

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cached=$("$root/hack/assets.sh" kafka)

# libs VERSION prints the folder of its jars.
libs() {
  if [ -n "$(find "$cached/libs" -maxdepth 1 -name "kafka_2.13-$1.jar")" ]; then
    printf '%s\n' "$cached/libs"
    return
  fi
  mvn -q -B -Dstyle.color=never -f "$root/hack/kafka/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    "-Dkafka.version=$1" -DincludeScope=runtime "-DoutputDirectory=$scratch/$1" >&2
  printf '%s\n' "$scratch/$1"
}

[ $# -gt 0 ] || mapfile -t versions <"$here/versions.txt"
[ $# -eq 0 ] || versions=("$@")
mkdir -p "$out"
for version in "${versions[@]}"; do
  folder=$(libs "$version")
  # Write to a temporary file first: a failure must not replace the existing table.
  java -cp "$folder/*" "$here/Table.java" >"$scratch/$version.tsv"
  mv "$scratch/$version.tsv" "$out/kafka-$version.tsv"
  echo "kafka-$version.tsv: $(grep -vc '^#' "$out/kafka-$version.tsv") keys"
done
