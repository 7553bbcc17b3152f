"""``vllm serve``'s command line."""

import pytest

from simulator.cli import parse
from simulator.faults import ErrorKind, Faults
from simulator.settings import Capacity, LatencyModel, Lifecycle, Settings
from simulator.vllm_options import JSON_VALUES, LISTS, SWITCHES, VALUES


def test_the_arguments_that_the_operator_writes_are_read() -> None:
    command = (
        "serve example/chat-1b --served-model-name chat --port 8000 --tensor-parallel-size 2 "
        "--max-num-seqs 64 --max-model-len 16k --gpu-memory-utilization 0.90 --revision abc --dtype auto "
        "--sim-ttft-ms 80 --sim-itl-ms 25 --sim-sigma 0.15 --sim-itl-sigma 0 --sim-seed 7 "
        "--sim-prefill-us-per-token 100 --sim-batch-slope 0.02 --sim-output-tokens 50 "
        "--sim-latency-factor 1.2 --sim-latency-min-prompt-tokens 300 --sim-latency-after 60 "
        "--sim-error-share cut=0.02 --sim-error-share=http500=0.01,429=0.03 "
        "--sim-start-delay 20 --sim-crash-after 100 --sim-drain-seconds 5 --sim-memory-mib 64"
    )
    assert parse(command.split()) == Settings(
        model="example/chat-1b",
        served_names=("chat",),
        tensor_parallel_size=2,
        seed=7,
        output_tokens=50,
        latency=LatencyModel(
            ttft=0.08, itl=0.025, prefill_per_token=0.0001, batch_slope=0.02, sigma=0.15, itl_sigma=0
        ),
        capacity=Capacity(max_num_seqs=64, max_model_len=16000),
        faults=Faults(
            latency_factor=1.2,
            latency_min_prompt_tokens=300,
            latency_after=60,
            error_shares={ErrorKind.CUT: 0.02, ErrorKind.HTTP_500: 0.01, ErrorKind.TOO_MANY: 0.03},
        ),
        lifecycle=Lifecycle(start_delay=20, crash_after=100, drain=5, memory=64),
    )


def test_without_arguments_everything_has_a_default() -> None:
    assert parse(["serve"]) == Settings()


def test_without_a_served_name_the_model_is_its_own_name() -> None:
    assert parse(["serve", "org/model"]).served_names == ("org/model",)


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        ("--max_num_seqs 8", {"max_num_seqs": 8}),
        ("--max-num-seqs=8", {"max_num_seqs": 8}),
        ("--max-model-len 4K", {"max_model_len": 4096}),
        ("--max-model-len auto", {"max_model_len": 32768}),
        ("--no-enable-prefix-caching", {"enable_prefix_caching": False}),
        ("--compilation-config.mode 3 --block-size 32", {"block_size": 32}),
        ("--speculative-config.method=ngram -O3 --block-size 32", {"block_size": 32}),
    ],
)
def test_names_and_values_may_be_written_as_vllm_allows(arguments: str, want: dict[str, int]) -> None:
    capacity = parse(["serve", "m", *arguments.split()]).capacity
    assert {name: getattr(capacity, name) for name in want} == want


def test_short_names_are_known() -> None:
    settings = parse(["serve", "m", "-tp", "4", "-dp", "2", "-q", "fp8"])
    assert (settings.tensor_parallel_size, settings.data_parallel_size) == (4, 2)


@pytest.mark.parametrize("prefix", ["--", "--no-"])
def test_switches_without_effect_here_are_accepted_both_ways(prefix: str) -> None:
    assert parse(["serve", "m", *(prefix + name for name in SWITCHES)]) == parse(["serve", "m"])


@pytest.mark.parametrize(
    ("names", "value"), [(VALUES, "x"), (LISTS, "x"), (JSON_VALUES, "{}")], ids=["values", "lists", "json"]
)
def test_options_without_effect_here_are_accepted_with_a_value(names: tuple[str, ...], value: str) -> None:
    arguments = [argument for name in names for argument in (f"--{name}", value)]
    assert parse(["serve", "m", *arguments]) == parse(["serve", "m"])


def test_histogram_edges_can_be_replaced_by_family() -> None:
    settings = parse(["serve", "m", "--custom-histogram-buckets", '{"time_to_first_token": [0.1, 0.2]}'])
    assert settings.buckets == {"time_to_first_token": (0.1, 0.2)}


@pytest.mark.parametrize(
    ("arguments", "want_message"),
    [
        ("serve m --max-num-sequences 8", "unrecognized arguments: --max-num-sequences 8"),
        ("serve m --max-num 8", "unrecognized arguments: --max-num 8"),
        ("serve m --sim-speed 8", "unrecognized arguments: --sim-speed 8"),
        ("serve m extra", "unrecognized arguments: extra"),
        ("serve m --max-num-seqs many", "argument --max-num-seqs: invalid _positive value: 'many'"),
        ("serve m --max-num-seqs 0", "argument --max-num-seqs: 0 is not 1 or more"),
        ("serve m --max-model-len 12q", "argument --max-model-len: 12q is no number of tokens"),
        ("serve m --speculative-config {", "argument --speculative-config: invalid loads value"),
        ("serve m --sim-ttft-ms nan", "argument --sim-ttft-ms: nan is not a finite number"),
        ("serve m --sim-memory-mib 0", "argument --sim-memory-mib: 0 is not 1 or more"),
        ("serve m --sim-error-share boom=1", "error_shares: unknown kind 'boom'"),
        ("serve m --sim-latency-factor 0", "latency_factor: 0.0 is outside"),
        ("serve m --num-gpu-blocks-override 10", "--max-model-len 32768 needs more KV cache than"),
        ('serve m --custom-histogram-buckets {"ttft":[1]}', "unknown bucket family 'ttft'"),
        ('serve m --custom-histogram-buckets {"request_latency":[2,1]}', "request_latency: edges must be"),
        ("bench m", "argument command: invalid choice: 'bench'"),
        ("", "the following arguments are required: command"),
    ],
)
def test_a_wrong_command_line_ends_with_code_2_and_says_why(
    arguments: str, want_message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        parse(arguments.split())
    assert exit_.value.code == 2
    assert want_message in capsys.readouterr().err
