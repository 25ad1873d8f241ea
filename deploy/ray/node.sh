#!/usr/bin/env bash
# One machine of a replica: `node.sh head` or `node.sh worker HEAD_ADDRESS`. Stays in the foreground, for a supervisor.
set -euo pipefail
: "${VLLM_HOST_IP:?the address of this machine on the network that all machines share}"
port="${RAY_PORT:-6379}"

case "${1:-}" in
  head) exec ray start --block --head --node-ip-address "$VLLM_HOST_IP" --port "$port" --disable-usage-stats ;;
  worker) exec ray start --block --address "${2:?the address of the head}:$port" --node-ip-address "$VLLM_HOST_IP" ;;
  *)
    echo "usage: node.sh head | node.sh worker HEAD_ADDRESS" >&2
    exit 2
    ;;
esac
