"""``vllm serve``'s command line, and the ``--sim-*`` arguments beside it.

It follows vLLM where a mistake would show: an unknown argument ends with exit code 2, underscores may
stand for dashes in names, lengths may be written as ``16k``, and parts of JSON arguments may be given as
``--compilation-config.mode 3``.
"""

import argparse
import json
import math
import re
from collections.abc import Sequence
from typing import NoReturn

from simulator import vllm_options
from simulator.faults import ErrorKind, FaultError, Faults, parse_error_share
from simulator.metrics import BUCKET_FAMILIES
from simulator.settings import Capacity, LatencyModel, Lifecycle, Settings

_MULTIPLES = {
    "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30,
}  # fmt: skip


def parse(argv: Sequence[str]) -> Settings:
    """Read the arguments that follow the program's name.

    Raises:
        SystemExit: Code 2 with a message on standard error for arguments that vLLM would not take,
            code 0 for ``--version``.
    """
    parser = _Parser()
    options = parser.parse_args(_normalised(argv))
    try:
        settings = _settings(options)
    except FaultError as error:
        parser.error(str(error))
    capacity = settings.capacity
    if capacity.num_gpu_blocks * capacity.block_size < capacity.max_model_len:
        parser.error(
            f"--max-model-len {capacity.max_model_len} needs more KV cache than "
            f"--num-gpu-blocks-override {capacity.num_gpu_blocks} blocks hold"
        )
    return settings


class _Parser(argparse.ArgumentParser):
    """The parser of ``vllm serve``."""

    def __init__(self) -> None:
        super().__init__(prog="vllm", allow_abbrev=False, usage="vllm serve [model_tag] [options]")
        self.add_argument("-v", "--version", action="version", version=Settings().version)
        self.add_argument("command", choices=["serve"])
        self.add_argument("model_tag", nargs="?", default=Settings().model)
        self._add_ignored()
        self._add_engine()
        self._add_simulator()

    def error(self, message: str) -> NoReturn:
        """Print the message as vLLM does and exit with code 2."""
        self.print_usage()
        self.exit(2, f"vllm serve: error: {message}\n")

    def _add_ignored(self) -> None:
        for name in vllm_options.SWITCHES:
            self.add_argument(f"--{name}", action=argparse.BooleanOptionalAction)
        for name in vllm_options.VALUES:
            self.add_argument(f"--{name}")
        for name in vllm_options.LISTS:
            self.add_argument(f"--{name}", nargs="+")
        for name in vllm_options.JSON_VALUES:
            self.add_argument(f"--{name}", type=json.loads)

    def _add_engine(self) -> None:
        add, capacity = self.add_argument, Capacity()
        add("--served-model-name", nargs="+")
        add("--host")
        add("--port", type=int, default=8000)
        add("--seed", type=int, default=0)
        add("--tensor-parallel-size", type=_positive, default=1)
        add("--data-parallel-size", type=_positive, default=1)
        add("--max-num-seqs", type=_positive, default=capacity.max_num_seqs)
        add("--max-num-batched-tokens", type=_length, default=capacity.max_num_batched_tokens)
        add("--max-model-len", type=_model_length, default=capacity.max_model_len)
        add("--block-size", type=_positive, default=capacity.block_size)
        add("--num-gpu-blocks-override", type=_positive, default=capacity.num_gpu_blocks)
        add("--enable-prefix-caching", action=argparse.BooleanOptionalAction, default=True)
        add("--enable-lora", action=argparse.BooleanOptionalAction, default=False)
        add("--max-loras", type=_positive, default=1)
        add("--enable-force-include-usage", action=argparse.BooleanOptionalAction)
        add("--enable-prompt-tokens-details", action=argparse.BooleanOptionalAction)
        add("--custom-histogram-buckets", type=_buckets, default={})

    def _add_simulator(self) -> None:
        add, settings = self.add_argument, Settings()
        latency, faults, life = settings.latency, settings.faults, settings.lifecycle
        add("--sim-version", default=settings.version)
        add("--sim-seed", type=int, default=settings.seed)
        add("--sim-output-tokens", type=_positive, default=settings.output_tokens)
        add("--sim-ttft-ms", type=_amount, default=latency.ttft * 1e3)
        add("--sim-itl-ms", type=_amount, default=latency.itl * 1e3)
        add("--sim-prefill-us-per-token", type=_amount, default=latency.prefill_per_token * 1e6)
        add("--sim-batch-slope", type=_amount, default=latency.batch_slope)
        add("--sim-sigma", type=_amount, default=latency.sigma)
        add("--sim-itl-sigma", type=_amount, default=latency.itl_sigma)
        add("--sim-latency-factor", type=_amount, default=faults.latency_factor)
        add("--sim-latency-min-prompt-tokens", type=int, default=faults.latency_min_prompt_tokens)
        add("--sim-latency-after", type=_amount, default=faults.latency_after)
        add("--sim-error-share", action="append", default=[], metavar="KIND=SHARE")
        add("--sim-start-delay", type=_amount, default=life.start_delay)
        add("--sim-crash-at-start", action="store_true")
        add("--sim-crash-after", type=_amount, default=life.crash_after)
        add("--sim-drain-seconds", type=_amount, default=life.drain)
        add("--sim-memory-mib", type=_positive, default=life.memory)


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        model=options.model_tag,
        served_names=tuple(options.served_model_name or [options.model_tag]),
        host=options.host,
        port=options.port,
        tensor_parallel_size=options.tensor_parallel_size,
        data_parallel_size=options.data_parallel_size,
        enable_lora=options.enable_lora,
        max_loras=options.max_loras,
        force_include_usage=bool(options.enable_force_include_usage),
        prompt_tokens_details=bool(options.enable_prompt_tokens_details),
        version=options.sim_version,
        seed=options.sim_seed,
        output_tokens=options.sim_output_tokens,
        latency=_latency(options),
        capacity=_capacity(options),
        faults=_faults(options),
        lifecycle=Lifecycle(
            start_delay=options.sim_start_delay,
            crash_at_start=options.sim_crash_at_start,
            crash_after=options.sim_crash_after,
            drain=options.sim_drain_seconds,
            memory=options.sim_memory_mib,
        ),
        buckets=options.custom_histogram_buckets,
    )


def _latency(options: argparse.Namespace) -> LatencyModel:
    return LatencyModel(
        ttft=options.sim_ttft_ms / 1e3,
        itl=options.sim_itl_ms / 1e3,
        prefill_per_token=options.sim_prefill_us_per_token / 1e6,
        batch_slope=options.sim_batch_slope,
        sigma=options.sim_sigma,
        itl_sigma=options.sim_itl_sigma,
    )


def _capacity(options: argparse.Namespace) -> Capacity:
    return Capacity(
        max_num_seqs=options.max_num_seqs,
        max_num_batched_tokens=options.max_num_batched_tokens,
        max_model_len=options.max_model_len,
        block_size=options.block_size,
        num_gpu_blocks=options.num_gpu_blocks_override,
        enable_prefix_caching=options.enable_prefix_caching,
    )


def _faults(options: argparse.Namespace) -> Faults:
    shares: dict[ErrorKind, float] = {}
    for text in options.sim_error_share:
        for part in text.split(","):
            kind, share = parse_error_share(part)
            shares[kind] = share
    return Faults(
        latency_factor=options.sim_latency_factor,
        latency_min_prompt_tokens=options.sim_latency_min_prompt_tokens,
        latency_after=options.sim_latency_after,
        error_shares=shares,
    )


def _normalised(argv: Sequence[str]) -> list[str]:
    """Long names with dashes, short names spelt out, and parts of JSON arguments left out."""
    result: list[str] = []
    arguments = iter(argv)
    for argument in arguments:
        name, separator, value = argument.partition("=")
        if argument.startswith("--"):
            name = name.replace("_", "-")
            base, dot, _ = name[2:].partition(".")
            if dot and base in vllm_options.JSON_VALUES:
                if not separator:
                    next(arguments, None)
                continue
            result.append(name + separator + value)
        elif name in vllm_options.SHORT_NAMES:
            result.append(vllm_options.SHORT_NAMES[name] + separator + value)
        elif re.fullmatch(r"-O\d", argument):
            result.append(f"--optimization-level={argument[2:]}")
        else:
            result.append(argument)
    return result


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _amount(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a finite number of 0 or more")
    return number


def _length(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is no number of tokens, such as 4096 or 16k")
    return _positive(str(int(float(match[1]) * _MULTIPLES.get(match[2], 1))))


def _model_length(text: str) -> int:
    return Capacity().max_model_len if text in ("auto", "-1") else _length(text)


def _buckets(text: str) -> dict[str, tuple[float, ...]]:
    families = json.loads(text)
    if not isinstance(families, dict):
        raise argparse.ArgumentTypeError("must be a JSON object of bucket family and edges")
    for family, edges in families.items():
        if family not in BUCKET_FAMILIES:
            known = ", ".join(BUCKET_FAMILIES)
            raise argparse.ArgumentTypeError(f"unknown bucket family {family!r}; known are {known}")
        if not _increasing(edges):
            raise argparse.ArgumentTypeError(
                f"{family}: edges must be positive, finite and strictly increasing"
            )
    return {family: tuple(map(float, edges)) for family, edges in families.items()}


def _increasing(edges: object) -> bool:
    if not isinstance(edges, list) or not edges:
        return False
    if not all(isinstance(edge, int | float) and math.isfinite(edge) for edge in edges):
        return False
    return all(low < high for low, high in zip([0, *edges], edges, strict=False))
