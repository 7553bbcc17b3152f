"""Options of ``vllm serve`` (0.32 and 0.33) that are understood and change nothing in the simulator.

A rollout must be refused for a misspelt argument here just as on a GPU, so the list is closed: what
stands neither here nor in ``cli`` is an error.
"""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SWITCHES = _names("""
aggregate-engine-logging allow-credentials allow-deprecated-quantization async-scheduling
calculate-kv-scales cudagraph-metrics data-parallel-external-lb data-parallel-hybrid-lb
disable-cascade-attn disable-custom-all-reduce disable-fastapi-docs disable-hybrid-kv-cache-manager
disable-log-stats disable-nccl-for-dp-synchronization disable-sliding-window
disable-uvicorn-access-log enable-auto-tool-choice enable-chunked-prefill enable-dbo enable-eplb
enable-expert-parallel enable-extensible-kv-cache enable-flashinfer-autotune enable-layerwise-nvtx-tracing
enable-log-deltas enable-log-outputs enable-log-requests enable-logging-iteration-details
enable-mfu-metrics enable-mm-embeds enable-offline-docs enable-per-request-metrics
enable-prompt-embeds enable-request-id-headers enable-return-routed-experts
enable-server-load-tracking enable-sleep-mode enable-ssl-refresh enable-tokenizer-info-endpoint
enable-tower-connector-lora enforce-eager exclude-tools-when-tool-choice-none fully-sharded-loras
headless interleave-mm-strings kv-cache-metrics kv-sharing-fast-prefill language-model-only
log-error-stack ray-workers-use-nsight return-tokens-as-token-ids skip-mm-profiling
skip-tokenizer-init tokens-only trust-remote-code trust-request-chat-template use-tqdm-on-load
""")

VALUES = _names("""
all2all-backend allowed-local-media-path api-server-count
chat-template chat-template-content-format code-revision convert cp-kv-cache-interleave-size
cpu-offload-gb data-parallel-address data-parallel-backend data-parallel-rank data-parallel-rpc-port
data-parallel-size-local data-parallel-start-rank dbo-decode-token-threshold
dbo-prefill-token-threshold dcp-kv-cache-interleave-size decode-context-parallel-size
default-mm-loras disable-access-log-for-endpoints distributed-executor-backend
distributed-timeout-seconds download-dir dtype expert-placement-strategy fingerprint-mode
fingerprint-value generation-config gpu-memory-utilization h11-max-header-count
h11-max-incomplete-event-size hf-config-path hf-token ignore-patterns io-processor-plugin
kv-cache-dtype kv-cache-memory-bytes kv-cache-metrics-sample kv-offloading-backend
kv-offloading-size load-format log-config-file logits-processor-pattern logprobs-mode
long-prefill-token-threshold lora-dtype lora-target-modules mamba-block-size mamba-cache-dtype
mamba-cache-mode mamba-ssm-cache-dtype master-addr master-port max-cpu-loras max-cudagraph-capture-size
max-log-len max-logprobs max-long-partial-prefills max-lora-rank max-num-partial-prefills
max-parallel-loading-workers mm-encoder-attn-backend mm-encoder-tp-mode mm-processor-cache-gb
mm-processor-cache-type mm-shm-cache-max-object-size-mb model-impl nnodes node-rank
numa-bind-nodes optimization-level otlp-traces-endpoint performance-mode pipeline-parallel-size
prefill-context-parallel-size prefix-cache-retention-interval prefix-caching-hash-algo
pt-load-map-location quantization reasoning-parser reasoning-parser-plugin response-role revision
root-path runner safetensors-load-strategy scheduler-cls scheduling-policy
show-hidden-metrics-for-version shutdown-timeout spec-model spec-tokens ssl-ca-certs ssl-cert-reqs
ssl-certfile ssl-ciphers ssl-keyfile stream-interval swap-space tokenizer tokenizer-mode
tokenizer-revision tool-call-parser tool-parser-plugin tool-server ubatch-size uds
uvicorn-log-level video-pruning-rate worker-cls worker-extension-cls
""")

LISTS = _names("""
api-key allowed-media-domains collect-detailed-traces cudagraph-capture-sizes logits-processors
lora-modules middleware
""")

JSON_VALUES = _names("""
additional-config allowed-headers allowed-methods allowed-origins attention-config
compilation-config default-chat-template-kwargs ec-transfer-config eplb-config hf-overrides
ir-op-priority kernel-config kv-events-config kv-transfer-config limit-mm-per-prompt
media-io-kwargs mm-processor-kwargs model-loader-extra-config offload-config
override-generation-config pooler-config profiler-config quantization-config
reasoning-config speculative-config structured-outputs-config weight-transfer-config
""")

SHORT_NAMES = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
    "-q": "--quantization",
    "-O": "--optimization-level",
    "-cc": "--compilation-config",
    "-ac": "--attention-config",
    "-sc": "--speculative-config",
    "-asc": "--api-server-count",
    "-n": "--nnodes",
    "-r": "--node-rank",
}
