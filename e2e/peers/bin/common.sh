# Sourced by the kafka-* and rabbit-* scripts.
PEERS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What these scripts install lies outside the checkout, keyed by what it is made from.
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/millrace
KLIBS=$CACHE/kafka-$(sha256sum <"$PEERS/kafka/pom.xml" | cut -c1-12)
GENERATORS=$CACHE/generators-$(cat "$PEERS"/[ak]bench/{go.mod,go.sum,*.go} | sha256sum | cut -c1-12)
# JAVA_HOME may be set by the caller; otherwise Temurin 25 if there, else whatever java is on the PATH.
if [ -z "${JAVA_HOME:-}" ]; then
  for d in /usr/lib/jvm/temurin-25-jdk-amd64 /usr/lib/jvm/java-17-openjdk-amd64; do [ -x $d/bin/java ] && { JAVA_HOME=$d; break; }; done
fi
JAVA="${JAVA_HOME:+$JAVA_HOME/bin/}java"
# The release's own JVM flags (bin/kafka-run-class.sh)
KPERF="-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true"
KPORT=${KAFKA_PORT_BASE:-21090}      # broker i listens on KPORT+i
KCPORT=${KAFKA_CPORT_BASE:-21190}    # controller i listens on KCPORT+i
kbootstrap() { local n=$1 s= i; for i in $(seq 1 $n); do s=$s${s:+,}127.0.0.1:$((KPORT+i)); done; echo $s; }
