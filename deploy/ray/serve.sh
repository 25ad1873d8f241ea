#!/usr/bin/env bash
# vLLM over all machines of a Ray cluster: tensor parallel inside a machine, pipeline parallel across machines.
set -euo pipefail
: "${MODEL:?path to the weights, the same on every machine}"
: "${SERVED:?the name that callers use}"
: "${NODES:?number of machines}"
: "${GPUS_PER_NODE:?GPUs of each machine}"

python3 - "$((NODES * GPUS_PER_NODE))" "${WAIT_S:-900}" << 'PYTHON'
"""Half a cluster would load half a model and then hang: wait until all GPUs are there."""
import sys, time
import ray

wanted, deadline = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
ray.init(address="auto", logging_level="ERROR")
while (found := int(ray.cluster_resources().get("GPU", 0))) < wanted:
    if time.monotonic() > deadline:
        sys.exit(f"{found} of {wanted} GPUs joined in time")
    time.sleep(2)
PYTHON

exec vllm serve "$MODEL" --served-model-name "$SERVED" \
  --host "${HOST:-0.0.0.0}" --port "${PORT:-8000}" \
  --tensor-parallel-size "$GPUS_PER_NODE" --pipeline-parallel-size "$NODES" \
  --distributed-executor-backend ray \
  --max-num-seqs "${MAX_NUM_SEQS:-128}" --max-model-len "${MAX_MODEL_LEN:-32768}" \
  --enable-prefix-caching --enable-chunked-prefill
