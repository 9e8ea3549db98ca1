#!/usr/bin/env bash
# ready.sh PORT reports whether something listens on a port, without connecting to it: a connection that ends before its TLS
# handshake is an error in Kafka's log. Kafka opens its listeners once its logs are recovered and its metadata is up to date.
port=$(printf ':%04X' "$1")
for table in /proc/net/tcp /proc/net/tcp6; do
  [ -r "$table" ] || continue
  while read -r _ address _ state _; do
    [[ $state == 0A && $address == *"$port" ]] && exit 0
  done <"$table"
done
echo "nothing listens on port $1 yet"
exit 1
