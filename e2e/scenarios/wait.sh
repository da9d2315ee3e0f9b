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
# flights_job NAME ARGS...: the flights programs in a pod of their own; waits for its end, prints its words, passes its verdict on.
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
        - {name: KAFKA, value: "flights:9092"}
        - {name: AMQP_PASSWORD, valueFrom: {secretKeyRef: {name: flights-client, key: password}}}
        - {name: AMQP, value: "amqp://flights:\$(AMQP_PASSWORD)@flights:5672/"}
        - {name: ADMIN, value: "http://flights-0.flights-brokers:9644"}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true}
E
}
job_ended() { [ -n "$(k get job "$1" -o jsonpath='{.status.conditions[?(@.status=="True")].type}' | grep -E 'Complete|Failed')" ]; }
end_job() {
  until_true 900 "job $1" job_ended "$1"
  k logs "job/$1" --tail=30
  k get job "$1" -o jsonpath='{.status.succeeded}' | grep -qx 1
}
