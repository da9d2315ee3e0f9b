# Waiting for a state, never for a time. Sourced by the scenarios.
# shellcheck shell=bash
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
namespace=flights
say() { printf '   %s %s\n' "$(date +%T)" "$*" >&2; }
k() { kubectl -n "$namespace" "$@"; }
until_true() { # SECONDS WHAT CMD...: polls a state that `kubectl wait` cannot express
  local end=$((SECONDS + $1)) what=$2; shift 2
  until "$@"; do [ $SECONDS -lt $end ] || { say "gave up waiting: $what"; return 1; }; sleep 0.5; done
}
ready() { k wait --for=condition=Ready "$@" --timeout=240s >/dev/null; }
all_brokers_ready() { k wait --for=condition=Ready pod -l app.kubernetes.io/part-of=millrace --timeout=240s >/dev/null; }
brokers() { # FORMAT: each broker's address, separated by commas
  local i separator=; for i in 0 1 2; do printf "%s$1" "$separator" "$i"; separator=,; done
}
# start_job NAME ARGS...: the flights programs in a pod of their own. end_job waits, prints its words, passes its verdict on.
start_job() {
  local name=$1; shift
  local args; args=$(printf '"%s",' "$@")
  k delete job "$name" --ignore-not-found >/dev/null
  k apply -f - >/dev/null <<E
apiVersion: batch/v1
kind: Job
metadata: {name: $name}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: flights
        image: e2e.local/flights:dev
        imagePullPolicy: Never
        args: [${args%,}]
        env:
        - {name: PYTHONPATH, value: /site-packages}
        - {name: PYTHONUNBUFFERED, value: "1"}
        - {name: KAFKA, value: "$(brokers 'flights-%d.flights-brokers:9092')"}
        - {name: AMQP_PASSWORD, valueFrom: {secretKeyRef: {name: flights-client, key: password}}}
        - {name: AMQP, value: "$(brokers 'amqp://flights:$(AMQP_PASSWORD)@flights-%d.flights-brokers:5672/')"}
        - {name: ADMIN, value: "$(brokers 'http://flights-%d.flights-brokers:9644')"}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true}
        volumeMounts: [{name: work, mountPath: /tmp}]
      volumes: [{name: work, emptyDir: {}}]
E
}
job_ended() { [ -n "$(k get job "$1" -o jsonpath='{.status.conditions[?(@.status=="True")].type}' | grep -E 'Complete|Failed')" ]; }
end_job() {
  until_true 900 "job $1" job_ended "$1"
  k logs "job/$1" --tail=30
  k get job "$1" -o jsonpath='{.status.succeeded}' | grep -qx 1
}
half_way() { k logs "job/$1" 2>/dev/null | grep 'half way' >/dev/null; }
half_way_or_ended() { half_way "$1" || job_ended "$1"; }
start_flights() { # NAME: starts the example in a pod, returns once half of the flights are consumed
  start_job "$1" /flights/main.py --at-half 'echo half way'
  until_true 600 "half of the flights" half_way_or_ended "$1"
  half_way "$1" || { k logs "job/$1" --tail=30; return 1; }
}
manifests=$root/e2e/examples/flights/manifests.yaml
fresh() { # the example's topics, queue, exchange and group as new; the cluster stays
  k delete topics.millrace.dev,queues.millrace.dev,exchanges.millrace.dev,consumergroups.millrace.dev --all --timeout=120s >/dev/null
  declare_all
}
declare_all() {
  k apply -f "$here/cluster.yaml" -f <(without_cluster) >/dev/null
  ready brokercluster/flights
  for kind in topics queues exchanges consumergroups; do ready "$kind.millrace.dev" --all; done
}
without_cluster() { # the example's manifests but for the cluster, which cluster.yaml states for this Kubernetes
  python3 -c 'import sys; print("\n---".join(d for d in open(sys.argv[1]).read().split("\n---") if "kind: BrokerCluster" not in d))' "$manifests"
}
