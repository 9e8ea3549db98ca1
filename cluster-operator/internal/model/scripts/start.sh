#!/usr/bin/env bash
# Starts one Kafka node: formats its volumes once, then becomes Kafka. Java is process 1, so that it gets the signals.
set -euo pipefail

conf=/opt/kafka/custom-config
placement=/opt/kafka/placement

# What depends on the Kubernetes node is known once the pod is scheduled; the operator then annotates the pod.
for fact in ${KAFKA_PLACEMENT:-}; do
  until [ -s "$placement/$fact" ]; do
    echo "waiting for the $fact of this pod's Kubernetes node, which the cluster operator adds as an annotation"
    sleep 1
  done
done

config=$conf/server.config
property() { sed -n "s|^$1=||p" "$config" | tail -n 1; }

# The configuration may already be that of the next pod: with files that this pod does not have, a rack from a variable that it does not
# have, or other roles. Kafka would take a reference to what is missing for the value. What this pod ran with counts until it is replaced.
ran=/tmp/ran.config
before() { config=$ran property "$1"; }
unlike=
while IFS=: read -r _ folder file; do
  [ -e "$folder/$file" ] || unlike="it has no $folder/$file"
done < <(grep -oE '[$][{]strimzidir:/opt/kafka/(certificates|placement):[^}]+' "$config")
if [ -f "$ran" ]; then
  rack=$(property broker.rack)
  # A pod that ran without the variable before may do so: the user did not set it.
  if [ "$(before broker.rack)" != "$rack" ] && [[ $rack =~ [$][{]strimzienv:([^}]+) ]] && ! printenv "${BASH_REMATCH[1]}" >/dev/null; then
    unlike="it has no environment variable ${BASH_REMATCH[1]}"
  fi
  [ "$(before process.roles)" = "$(property process.roles)" ] || unlike="it has other roles"
fi
if [ -n "$unlike" ]; then
  echo "the configuration is not the one of this pod, which is to be replaced: $unlike"
  [ -f "$ran" ] || exit 1
  config=$ran
fi

# mounted reports whether the volume of a log directory is mounted. The configuration may already be that of the next pod, which has other
# volumes than this one: what is written where no volume is mounted is lost. The list of mounts counts if the configuration is in it.
mounts=' '
while read -r _ _ _ _ at _; do mounts+="$at "; done </proc/self/mountinfo || true
mounted() { [[ $mounts != *" $conf "* || $mounts == *" ${1%/*} "* ]]; }
# only_mounted prints those of a list of log directories whose volumes are mounted.
only_mounted() {
  local dir all list=
  IFS=, read -ra all <<<"$1"
  for dir in "${all[@]}"; do
    if mounted "$dir"; then list+=${list:+,}$dir; fi
  done
  echo "$list"
}
metadata=$(property metadata.log.dir)
wanted=$(property log.dirs)
present=$(only_mounted "$wanted")
IFS=, read -ra dirs <<<"$present"
if [ "$present" != "$wanted" ]; then
  echo "of the log directories $wanted, those in volumes of this pod are used until it is replaced: ${present:-none}"
  [ -n "$present" ] || exit 1
  if ! mounted "$metadata"; then
    metadata=${dirs[0]}
    for dir in "${dirs[@]}"; do
      if [ -d "$dir/__cluster_metadata-0" ]; then metadata=$dir; fi
    done
  fi
  cordoned=$(property cordoned.log.dirs)
  [ "$cordoned" = '*' ] || cordoned=$(only_mounted "$cordoned")
  {
    sed '/^log\.dirs=/d; /^metadata\.log\.dir=/d; /^cordoned\.log\.dirs=/d' "$config"
    echo "log.dirs=$present"
    echo "metadata.log.dir=$metadata"
    [ -z "$cordoned" ] || echo "cordoned.log.dirs=$cordoned"
  } >/tmp/server.config
  config=/tmp/server.config
fi

# The metadata log may have been moved to another volume. Its only copy may be the one on the old volume, which is another disk: it goes
# when the new one is written to disk, and gets another name first, so that no part of it is taken for a log.
# Kafka does not start with two. Of a broker, one can go: it fetches what is missing. So can a copy, or a part of one, which an interrupted
# move left. Else the newer one of a controller may be the only copy, and has its vote.
log=__cluster_metadata-0
copied() { (cd "$dir/$log" && sha256sum -- *) | (cd "$metadata/$log" && sha256sum -c) >/dev/null 2>&1; }
for dir in "${dirs[@]}"; do
  rm -rf "$dir/.moving" "$dir/.moved" # what is left of an interrupted move: Kafka does not start with it
  rmdir "$dir/$log" 2>/dev/null || true # an empty one is none
done
for dir in "${dirs[@]}"; do
  if [ "$dir" = "$metadata" ] || [ ! -d "$dir/$log" ]; then continue; fi
  if [ ! -d "$metadata/$log" ]; then
    echo "moving the metadata log from $dir to $metadata"
    mkdir -p "$metadata"
    cp -a "$dir/$log" "$metadata/.moving"
    sync -f "$metadata"
    mv "$metadata/.moving" "$metadata/$log"
    sync -f "$metadata"
  elif [ "$(property process.roles)" = broker ] || copied; then
    echo "removing the metadata log in $dir, since there is one in $metadata"
  else
    ls -ld "$metadata/$log"/* "$dir/$log"/* || true
    echo "There are two metadata logs, see above: $metadata/$log and $dir/$log. Kafka does not start with both, and the newer" \
      "one must stay: it has this controller's vote, and may be the only copy of the metadata. If the older one is on a volume that was" \
      "added to the pool again, and nothing on that is needed, delete the volume's PersistentVolumeClaim and this pod. Else mount the" \
      "volumes in another pod, and move the older log out of its volume."
    exit 1
  fi
  mv "$dir/$log" "$dir/.moved"
  sync -f "$dir"
  rm -rf "$dir/.moved"
done

# What is formatted stays as it is. It is not left to Kafka to see that: during an upgrade, a node that was not restarted yet does not know
# the new metadata version, and would not start again.
cluster=$(cat "$conf/cluster.id")
formatted() {
  local dir
  for dir in "${dirs[@]}"; do
    [ "$(sed -n 's|^cluster\.id=||p' "$dir/meta.properties" 2>/dev/null)" = "$cluster" ] || return 1
  done
}

# As in Kafka's own scripts, what the user adds comes first. Kafka does not read $CLASSPATH itself: -cp replaces it.
classpath="${CLASSPATH:+$CLASSPATH:}/opt/kafka/libs/*"
storage_tool() { # an agent of Java or "", then arguments
  java -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile="$conf/log4j2.properties" ${1:+"$1"} -cp "$classpath" \
    kafka.tools.StorageTool "${@:2}"
}

# An exporter of metrics that does not start ends Java, and must not keep Kafka down: it is tried first.
exporter=()
if [ "${KAFKA_JMX_EXPORTER_ENABLED:-}" = true ]; then
  exporter=("-javaagent:/opt/kafka/jmx-exporter/jmx_prometheus_javaagent.jar=9404:$conf/metrics-config.json")
  if ! storage_tool "${exporter[0]}" random-uuid >/dev/null; then
    echo "the exporter of metrics does not start, see above: Kafka starts without it"
    exporter=()
  fi
fi
if ! formatted; then
  # The operator does not know the metadata version of each Kafka to come: without one, the tool uses its own.
  release=$(cat "$conf/metadata.version")
  storage_tool "" format --ignore-formatted --cluster-id "$cluster" ${release:+--release-version "$release"} --config "$config"
fi

[ "$config" = "$ran" ] || { cp "$config" "$ran.new" && mv "$ran.new" "$ran"; } || echo "the configuration was not noted in /tmp, see above"

# As in Kafka's own scripts. Kubernetes sets the variable to an URL if there is a Service with the name jmx.
jmx=${KAFKA_JMX_OPTS:-}
if [[ ${JMX_PORT:-} =~ ^[0-9]+$ ]]; then
  remote=-Dcom.sun.management.jmxremote
  jmx="${jmx:-$remote=true $remote.authenticate=false $remote.ssl=false} $remote.port=$JMX_PORT"
  [[ $jmx == *"$remote.rmi.port="* ]] || jmx+=" $remote.rmi.port=$JMX_PORT"
fi

# A node that comes back has a new address: names are looked up again after 5 s, as long as Kubernetes' DNS lets others keep them, and not after
# Java's 30 s.
# shellcheck disable=SC2086
exec java -Dsun.net.inetaddr.ttl=5 ${KAFKA_HEAP_OPTS:-} ${KAFKA_JVM_PERFORMANCE_OPTS:-} ${STRIMZI_JAVA_SYSTEM_PROPERTIES:-} \
  $jmx ${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile="$conf/log4j2.properties"} -Dkafka.logs.dir=/tmp "${exporter[@]}" \
  ${KAFKA_OPTS:-} -cp "$classpath" kafka.Kafka "$config"
