"""The metrics page of vLLM: names, labels, help and default bucket edges as of its versions 0.32 and 0.33.

The operator reads these by name, so a difference from the real server here would hide a defect there.
Series that belong to parts which the simulator has not got (speculative decoding, multi-modal input, KV
connectors) are left out.
"""

from collections.abc import Callable, Mapping

from simulator.exposition import Registry
from simulator.settings import Capacity, Settings

_LATENCY_EDGES = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0,
    240.0, 480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip
_TTFT_EDGES = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
_ITL_EDGES = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0,
)  # fmt: skip
_ITERATION_EDGES = tuple(float(2**power) for power in (0, *range(3, 15)))

BUCKET_FAMILIES = (
    "request_latency",
    "time_to_first_token",
    "inter_token_latency",
    "iteration_tokens",
    "request_params_n",
    "request_tokens",
    "kv_cache_residency",
)
FINISHED_REASONS = ("stop", "length", "abort", "error", "repetition")


_COUNTERS = {
    "prefix_cache_queries": "Prefix cache queries, in terms of number of queried tokens.",
    "prefix_cache_hits": "Prefix cache hits, in terms of number of cached tokens.",
    "num_preemptions": "Cumulative number of preemption from the engine.",
    "prompt_tokens": "Number of prefill tokens processed.",
    "prompt_tokens_cached": "Number of cached prompt tokens (local + external).",
    "generation_tokens": "Number of generation tokens processed.",
}
_HISTOGRAMS = {
    "request_prompt_tokens": ("request_tokens", "Number of prefill tokens processed."),
    "request_generation_tokens": ("request_tokens", "Number of generation tokens processed."),
    "request_params_max_tokens": (
        "request_tokens",
        "Histogram of the max_tokens request parameter.",
    ),
    "iteration_tokens_total": (
        "iteration_tokens",
        "Histogram of number of tokens per engine_step.",
    ),
    "time_to_first_token_seconds": (
        "time_to_first_token",
        "Histogram of time to first token in seconds.",
    ),
    "inter_token_latency_seconds": (
        "inter_token_latency",
        "Histogram of inter-token latency in seconds.",
    ),
    "request_time_per_output_token_seconds": (
        "inter_token_latency",
        "Histogram of time_per_output_token_seconds per request.",
    ),
    "e2e_request_latency_seconds": (
        "request_latency",
        "Histogram of e2e request latency in seconds.",
    ),
    "request_queue_time_seconds": (
        "request_latency",
        "Histogram of time spent in WAITING phase for request.",
    ),
    "request_inference_time_seconds": (
        "request_latency",
        "Histogram of time spent in RUNNING phase for request.",
    ),
    "request_prefill_time_seconds": (
        "request_latency",
        "Histogram of time spent in PREFILL phase for request.",
    ),
    "request_decode_time_seconds": (
        "request_latency",
        "Histogram of time spent in DECODE phase for request.",
    ),
}


class EngineMetrics:
    """The series of one engine, fed by its scheduler: a function to call for each.

    Attributes:
        finished: ``vllm:request_success_total`` by finish reason.
    """

    def __init__(self, registry: Registry, settings: Settings, engine: int) -> None:
        self._registry = registry
        self._labels = {"model_name": settings.served_names[0], "engine": str(engine)}
        self._edges = bucket_edges(settings.buckets, settings.capacity.max_model_len)
        self.prefix_queries = self._counter("prefix_cache_queries")
        self.prefix_hits = self._counter("prefix_cache_hits")
        self.preemptions = self._counter("num_preemptions")
        self.prompt_tokens = self._counter("prompt_tokens")
        self.prompt_tokens_cached = self._counter("prompt_tokens_cached")
        self.generation_tokens = self._counter("generation_tokens")
        self.finished = {reason: self._finished(reason) for reason in FINISHED_REASONS}
        self.request_prompt_tokens = self._histogram("request_prompt_tokens")
        self.request_generation_tokens = self._histogram("request_generation_tokens")
        self.request_max_tokens = self._histogram("request_params_max_tokens")
        self.iteration_tokens = self._histogram("iteration_tokens_total")
        self.ttft = self._histogram("time_to_first_token_seconds")
        self.itl = self._histogram("inter_token_latency_seconds")
        self.tpot = self._histogram("request_time_per_output_token_seconds")
        self.e2e = self._histogram("e2e_request_latency_seconds")
        self.queue_time = self._histogram("request_queue_time_seconds")
        self.inference_time = self._histogram("request_inference_time_seconds")
        self.prefill_time = self._histogram("request_prefill_time_seconds")
        self.decode_time = self._histogram("request_decode_time_seconds")

    def _counter(self, name: str) -> Callable[[int], None]:
        return self._registry.counter(f"vllm:{name}", _COUNTERS[name], **self._labels).add

    def _finished(self, reason: str) -> Callable[[int], None]:
        help_text = "Count of successfully processed requests."
        counter = self._registry.counter(
            "vllm:request_success", help_text, finished_reason=reason, **self._labels
        )
        return counter.add

    def _histogram(self, name: str) -> Callable[[float], None]:
        family, help_text = _HISTOGRAMS[name]
        edges = self._edges[family]
        return self._registry.histogram(f"vllm:{name}", help_text, edges, **self._labels).observe

    def watch(
        self,
        running: Callable[[], float],
        waiting: Callable[[], float],
        kv_usage: Callable[[], float],
    ) -> None:
        """Register the gauges, which read the scheduler's state when the page is rendered."""
        for name, help_text, read in (
            ("num_requests_running", "Number of requests in model execution batches.", running),
            ("num_requests_waiting", "Number of requests waiting to be processed.", waiting),
            ("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", kv_usage),
        ):
            self._registry.gauge(f"vllm:{name}", help_text, read, **self._labels)


def register_info(registry: Registry, settings: Settings) -> None:
    """Register the gauges that carry configuration in their labels."""
    for engine in range(settings.data_parallel_size):
        registry.gauge(
            "vllm:cache_config_info",
            "Information of the LLMEngine CacheConfig",
            lambda: 1.0,
            **_cache_labels(settings.capacity),
            engine=str(engine),
        )
    if settings.enable_lora:
        registry.gauge(
            "vllm:lora_requests_info",
            "Running stats on lora requests.",
            lambda: 0.0,
            max_lora=str(settings.max_loras),
            waiting_lora_adapters="",
            running_lora_adapters="",
        )


def bucket_edges(
    replaced: Mapping[str, tuple[float, ...]], max_model_len: int
) -> dict[str, tuple[float, ...]]:
    """The edges of each bucket family: vLLM's defaults, or what replaces them."""
    defaults = {
        "request_latency": _LATENCY_EDGES,
        "time_to_first_token": _TTFT_EDGES,
        "inter_token_latency": _ITL_EDGES,
        "iteration_tokens": _ITERATION_EDGES,
        "request_tokens": _one_two_five(max_model_len),
    }
    return defaults | dict(replaced)


def _one_two_five(limit: int) -> tuple[float, ...]:
    """1, 2, 5, 10, 20, 50 … up to ``limit``."""
    series = (digit * 10.0**power for power in range(len(str(limit))) for digit in (1, 2, 5))
    return tuple(edge for edge in series if edge <= limit)


def _cache_labels(capacity: Capacity) -> dict[str, str]:
    return {
        "block_size": str(capacity.block_size),
        "cache_dtype": "auto",
        "enable_prefix_caching": str(capacity.enable_prefix_caching),
        "num_gpu_blocks": str(capacity.num_gpu_blocks),
    }
