"""What one simulated server was told to be: immutable values, filled in by ``cli``.

Kept apart from the command line so that tests and the engine can be built without arguments.
All times are seconds, unless a name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.faults import Faults


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """How long the pretended GPU takes.

    Attributes:
        ttft: Median time to first token of a request that meets an idle server, without its prefill.
            It is spent outside the batch (tokenising, scheduling, network), so requests overlap in it.
        itl: Duration of one decode iteration with a single sequence.
        prefill_per_token: Batch time that one uncached prompt token costs.
        batch_slope: Relative growth of a decode iteration for each sequence beyond the first.
        sigma: Standard deviation of log(ttft + prefill) between requests; the median stays put.
        itl_sigma: Standard deviation of log(iteration duration) between iterations.
    """

    ttft: float = 0.050
    itl: float = 0.020
    prefill_per_token: float = 40e-6
    batch_slope: float = 0.01
    sigma: float = 0.2
    itl_sigma: float = 0.03


@dataclass(frozen=True, slots=True)
class Capacity:
    """The limits vLLM's scheduler works within, under vLLM's own names."""

    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    max_model_len: int = 32768
    block_size: int = 16
    num_gpu_blocks: int = 8192
    enable_prefix_caching: bool = True


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """When the process starts to serve, and when it dies.

    Attributes:
        start_delay: Time before the port opens: connections are refused until then.
        crash_at_start: Exit with code 1 instead of opening the port.
        crash_after: Exit with code 1 this long after the port opened, cutting every stream.
        drain: Time that open streams get after SIGTERM; by default none, as with vLLM's own default.
        memory: MiB of memory that are taken before the port opens, and kept, as for a model's weights.
    """

    start_delay: float = 0.0
    crash_at_start: bool = False
    crash_after: float | None = None
    drain: float = 0.0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """One simulated server.

    Attributes:
        model: What ``vllm serve`` was given as the model.
        served_names: Names that requests may use; the first one labels replies and metrics.
        output_tokens: Median length of an answer that may end by itself.
        buckets: Histogram edges that replace vLLM's defaults, by bucket family.
    """

    model: str = "Qwen/Qwen3-0.6B"
    served_names: tuple[str, ...] = ("Qwen/Qwen3-0.6B",)
    host: str | None = None
    port: int = 8000
    tensor_parallel_size: int = 1
    data_parallel_size: int = 1
    enable_lora: bool = False
    max_loras: int = 1
    force_include_usage: bool = False
    prompt_tokens_details: bool = False
    version: str = "0.33.0"
    seed: int = 0
    output_tokens: int = 64
    latency: LatencyModel = field(default_factory=LatencyModel)
    capacity: Capacity = field(default_factory=Capacity)
    faults: Faults = field(default_factory=Faults)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    buckets: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
