# Shared by build, up, down and ctl; sourced after STATE is set. Names, addresses, process helpers.
# shellcheck shell=bash
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# What `build` made, binaries and image tarballs, lies outside the checkout and is keyed by what it is made from.
inputs=$(cd "$HERE" && cat build mkimage go/go.mod go/go.sum coredns/go.mod coredns/go.sum coredns/main.go go/cmd/*/main.go | sha256sum | cut -c1-16)
BIN=${E2E_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/millrace/kube-$inputs}
CPU_WEIGHT=${E2E_CPU_WEIGHT:-8}  # all nodes together, where one other process of the machine weighs 1
PREFIX=${E2E_PREFIX:-e2e}        # names of network namespaces and cgroups start with it
NODES=${E2E_NODES:-3}
[ ! -r "$STATE/settings" ] || . "$STATE/settings"     # a cluster keeps what it was started with
CP=$PREFIX-cp                    # network namespace of the control plane; its bridge is the node network
CP_IP=10.89.0.1
node_ip() { echo "10.89.0.1$1"; }          # node i: 10.89.0.1i, its pods: 10.244.i.0/24
node_ns() { echo "$PREFIX-n$1"; }
zone() { echo "zone-$(echo abcdefghi | cut -c"$1")"; }
incp() { nsenter --net="/run/netns/$CP" "$@"; }   # not `ip netns exec`: that hides the cgroup mounts
kubectl() { incp "$BIN/kubectl" --kubeconfig "$STATE/admin.conf" "$@"; }
say() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }
retry() { # SECONDS CMD...: until it succeeds
  local end=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || { say "gave up on: $*"; return 1; }; sleep 0.1; done
}

# A recorded process is its pid and its start time, so that a reused pid is never taken for it.
started() { awk '{ sub(/.*\) /, ""); if ($1 != "Z") print $20 }' "/proc/$1/stat" 2>/dev/null || true; }
running() { # NAME
  local pid t
  [ -s "$STATE/pids/$1" ] && read -r pid t <"$STATE/pids/$1" && [ -n "$t" ] && [ "$(started "$pid")" = "$t" ]
}
pid_of() { cut -d' ' -f1 "$STATE/pids/$1"; }
spawn() { # NAME CMD...: start it detached unless it runs, log to logs/NAME
  local name=$1; shift
  running "$name" && return
  setsid "$@" >>"$STATE/logs/$name" 2>&1 </dev/null &
  echo "$! $(started $!)" >"$STATE/pids/$name"
}
stop() { # NAME [SIGNAL]: end it and wait until it has gone
  if running "$1"; then
    kill "-${2:-TERM}" "$(pid_of "$1")"
    retry 10 not running "$1" || kill -KILL "$(pid_of "$1")"
  fi
  rm -f "$STATE/pids/$1"
}
not() { ! "$@"; }
CGROUPS=$(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts)   # every mounted hierarchy, v1 or v2

rm_cgroups() { # NAME, with all below it
  local c left=0
  for c in $CGROUPS; do
    [ ! -d "$c/$1" ] || find "$c/$1" -depth -type d -exec rmdir {} + 2>/dev/null || left=1
  done
  return $left
}

# A node: a network namespace on the bridge, and in it a pid namespace whose pid 1 is node-init.
node_up() { # i
  local i=$1 ns j c; ns=$(node_ns "$i")
  running "node-$i" && return
  if [ ! -e "/run/netns/$ns" ]; then
    ip netns add "$ns"
    ip -n "$CP" link add "n$i" type veth peer name eth0 netns "$ns"
    ip -n "$CP" link set "n$i" master br0 up
    ip -n "$ns" link set lo up
    ip -n "$ns" addr add "$(node_ip "$i")/24" dev eth0
    ip -n "$ns" link set eth0 up
    ip -n "$ns" route add default via "$CP_IP"
    for ((j = 1; j <= NODES; j++)); do
      [ "$j" = "$i" ] || ip -n "$ns" route add "10.244.$j.0/24" via "$(node_ip "$j")"
    done
    ip -n "$CP" route replace "10.244.$i.0/24" via "$(node_ip "$i")"
  fi
  for c in $CGROUPS; do
    mkdir -p "$c/$PREFIX/n$i"
    case $c in */cpuset) for j in "$c/$PREFIX" "$c/$PREFIX/n$i"; do
      cat "$c/cpuset.cpus" >"$j/cpuset.cpus"; cat "$c/cpuset.mems" >"$j/cpuset.mems"; done ;;
    */cpu) echo $((1024 * CPU_WEIGHT)) >"$c/$PREFIX/cpu.shares" ;;
    esac
  done
  mkdir -p "$STATE/nodes/n$i"/{lib/pv,log,etc/cni}
  spawn "node-$i" nsenter --net="/run/netns/$ns" \
    unshare --mount --pid --fork --kill-child --uts --ipc --propagation private \
    bash "$HERE/node-init" "$STATE" "$BIN" "$PREFIX" "$i" "$(node_ip "$i")" "$(zone "$i")"
}
node_down() { # i: like pulling its plug
  local init=
  running "node-$1" && init=$(node_init_pid "$1")
  stop "node-$1" KILL
  [ -z "$init" ] || retry 20 eval '[ -z "$(started $init)" ]'   # it ends after all the others of its pid namespace
  ip netns del "$(node_ns "$1")" 2>/dev/null || true
  retry 20 rm_cgroups "$PREFIX/n$1"     # left ones would hold the next kubelet up, 3 s each
}
node_init_pid() { # i: pid 1 of the node, as seen from here
  local p; p=$(pid_of "node-$1"); cut -d' ' -f1 "/proc/$p/task/$p/children"
}
innode() { local i=$1; shift; nsenter -t "$(node_init_pid "$i")" -m -p -n -u -i "$@"; }
