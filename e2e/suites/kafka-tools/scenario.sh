# Sourced by every scenario: the addresses, the tool, a name and a folder of its own. Ends at the first command that fails.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${KAFKA:?is set by ../run}"
name=$(basename "$0")
# A topic, or the beginning of a name, that no other scenario uses.
topic=tools-$name-$RANDOM
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
tool() { "$here/../../peers/bin/kafka-tool" "$1" --bootstrap-server "$KAFKA" "${@:2}"; }
ok() { echo "ok: $name: $*"; }
# await SECONDS COMMAND...: asks again until it is so.
await() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do [ $SECONDS -lt $end ] || { echo "waited in vain: $*" >&2; return 1; }; done
}
