"""The pretended GPU on a virtual clock: every figure here is exact arithmetic."""

import pytest

from simulator.settings import Capacity, LatencyModel
from unit.simulator.harness import VirtualEngine


def test_an_idle_engine_takes_ttft_then_prefill_then_one_itl_per_token() -> None:
    gpu = VirtualEngine()
    sequence = gpu.submit(at=1.0, prompt=10, output=3)
    gpu.run()
    # 50 ms, 10 prompt tokens of 1 ms, then 20 ms for each further token.
    assert gpu.times(sequence) == [1.060, 1.080, 1.100]


def test_a_request_that_meets_a_busy_engine_waits_for_the_iteration_in_progress_and_shares_the_next() -> None:
    gpu = VirtualEngine()
    first = gpu.submit(at=0.0, prompt=10, output=5)
    second = gpu.submit(at=0.015, prompt=10, output=2)
    gpu.run()
    # The second is ready at 65 ms, in the middle of the first one's iteration from 60 to 80 ms; the next
    # iteration decodes one token (20 ms) and prefills ten (10 ms); the ones after decode two (22 ms).
    assert gpu.times(first) == [0.060, 0.080, 0.110, 0.132, 0.152]
    assert gpu.times(second) == [0.110, 0.132]


def test_decode_iterations_grow_with_the_batch() -> None:
    gpu = VirtualEngine()
    sequences = [gpu.submit(prompt=1, output=3) for _ in range(11)]
    gpu.run()
    first, second, third = gpu.times(sequences[0])
    # Eleven sequences: 20 ms and ten times 10 % of it.
    assert (round(second - first, 6), round(third - second, 6)) == (0.040, 0.040)


@pytest.mark.parametrize(("requests", "want_running", "want_waiting"), [(4, 4, 0), (5, 4, 1), (9, 4, 5)])
def test_no_more_sequences_run_than_max_num_seqs_allows(
    requests: int, want_running: int, want_waiting: int
) -> None:
    gpu = VirtualEngine(capacity=Capacity(max_num_seqs=4))
    for _ in range(requests):
        gpu.submit(output=50)
    gpu.run(until=0.3)
    assert gpu.sample("vllm:num_requests_running") == want_running
    assert gpu.sample("vllm:num_requests_waiting") == want_waiting


def test_latency_grows_with_load_and_steeply_once_the_batch_is_full() -> None:
    def ttft_of_the_last(requests: int) -> float:
        gpu = VirtualEngine(capacity=Capacity(max_num_seqs=8))
        sequences = [gpu.submit(at=index * 0.001, output=20) for index in range(requests)]
        gpu.run()
        return gpu.times(sequences[-1])[0] - sequences[-1].arrival

    figures = [ttft_of_the_last(requests) for requests in (1, 2, 4, 8, 16, 32)]
    assert figures == sorted(figures)
    assert figures[3] < 4 * figures[0]
    assert figures[5] > 10 * figures[0]


def test_a_long_prompt_is_prefilled_in_chunks_and_slows_its_neighbours_down() -> None:
    gpu = VirtualEngine(capacity=Capacity(max_num_batched_tokens=101))
    short = gpu.submit(prompt=1, output=10)
    long = gpu.submit(at=0.001, prompt=250, output=1)
    gpu.run()
    # The long prompt is ready at 51 ms, just as the short one's first token comes: 100, 100 and 50 of its
    # tokens ride on the next three decode iterations.
    assert gpu.times(short)[:5] == [0.051, 0.171, 0.291, 0.361, 0.381]
    assert gpu.times(long) == [0.361]


def test_a_latency_factor_scales_everything_that_a_lonely_request_meets() -> None:
    plain, slow = VirtualEngine(), VirtualEngine()
    fast_one = plain.submit(prompt=10, output=3)
    slow_one = slow.submit(prompt=10, output=3, factor=1.5)
    plain.run()
    slow.run()
    assert slow.times(slow_one) == [round(1.5 * at, 6) for at in plain.times(fast_one)]


def test_a_batch_that_a_factor_hits_in_part_slows_down_by_the_mean() -> None:
    gpu = VirtualEngine(
        latency=LatencyModel(ttft=0, itl=0.02, prefill_per_token=0, batch_slope=0, itl_sigma=0)
    )
    first = gpu.submit(prompt=1, output=3)
    gpu.submit(prompt=1, output=3, factor=2.0)
    gpu.run()
    assert gpu.times(first) == [0.0, 0.03, 0.06]


def test_equal_prompts_share_the_prefix_cache_up_to_the_last_token() -> None:
    gpu = VirtualEngine()
    gpu.submit(at=0.0, prompt=64, output=1, text="same")
    gpu.run()
    again = gpu.submit(at=1.0, prompt=64, output=1, text="same")
    gpu.run()
    assert again.cached_tokens == 63
    assert gpu.times(again) == [1.051]
    assert gpu.sample("vllm:prefix_cache_queries_total") == 128
    assert gpu.sample("vllm:prefix_cache_hits_total") == 63


def test_without_prefix_caching_nothing_is_looked_up() -> None:
    gpu = VirtualEngine(capacity=Capacity(enable_prefix_caching=False))
    for at in (0.0, 1.0):
        gpu.submit(at=at, prompt=64, output=1, text="same")
        gpu.run()
    assert gpu.sample("vllm:prefix_cache_queries_total") == 0
    assert gpu.sample("vllm:kv_cache_usage_perc") == 0


def test_a_full_kv_cache_preempts_the_latest_sequence_which_still_completes() -> None:
    gpu = VirtualEngine(capacity=Capacity(num_gpu_blocks=4, max_model_len=48))
    first = gpu.submit(prompt=17, output=31)
    second = gpu.submit(at=0.001, prompt=17, output=31)
    gpu.run()
    assert gpu.sample("vllm:num_preemptions_total") == 1
    assert (len(gpu.times(first)), len(gpu.times(second))) == (31, 31)
    assert gpu.times(second)[-1] > gpu.times(first)[-1]
    assert gpu.sample("vllm:kv_cache_usage_perc") == 0


@pytest.mark.parametrize(
    "moment", [0.01, 0.055, 0.07, 0.4], ids=["arriving", "prefilling", "decoding", "waiting"]
)
def test_an_aborted_request_leaves_nothing_behind_and_is_counted_nowhere(moment: float) -> None:
    gpu = VirtualEngine(capacity=Capacity(max_num_seqs=1))
    if moment == 0.4:
        gpu.submit(output=100)
    sequence = gpu.submit(output=50)
    gpu.run(until=moment)
    gpu.engine.abort(sequence)
    gpu.engine.abort(sequence)
    gpu.run()
    assert gpu.engine.load == 0
    assert gpu.sample("vllm:kv_cache_usage_perc") == 0
    assert gpu.sample('vllm:request_success_total{engine="0",finished_reason="abort"') == 0


def test_an_engine_that_was_held_up_makes_up_a_little_and_forgets_the_rest() -> None:
    gpu = VirtualEngine()
    gpu.submit(prompt=10, output=50)
    gpu.run(until=0.2)
    generated = len(gpu.tokens)
    # Nobody called for three seconds: not 150 iterations are played then, but one.
    assert len(gpu.engine.advance(3.2, 3.2)) == 1
    assert generated == 8


def test_the_same_seed_gives_the_same_times_and_another_seed_others() -> None:
    def run(seed: int) -> list[float]:
        noisy = LatencyModel(ttft=0.05, itl=0.02, itl_sigma=0.2)
        gpu = VirtualEngine(latency=noisy, seed=seed)
        sequence = gpu.submit(output=20)
        gpu.run()
        return gpu.times(sequence)

    assert run(7) == run(7)
    assert run(7) != run(8)


def test_the_metrics_tell_what_happened() -> None:
    gpu = VirtualEngine()
    gpu.submit(prompt=10, output=3)
    gpu.run()
    page = {
        "vllm:prompt_tokens_total": 10,
        "vllm:generation_tokens_total": 3,
        'vllm:request_success_total{engine="0",finished_reason="length"': 1,
        "vllm:time_to_first_token_seconds_sum": 0.06,
        "vllm:inter_token_latency_seconds_count": 2,
        "vllm:inter_token_latency_seconds_sum": 0.04,
        "vllm:request_time_per_output_token_seconds_sum": 0.02,
        "vllm:e2e_request_latency_seconds_sum": 0.1,
        "vllm:request_queue_time_seconds_sum": 0,
        "vllm:request_prefill_time_seconds_sum": 0.01,
        "vllm:request_decode_time_seconds_sum": 0.04,
        "vllm:iteration_tokens_total_count": 3,
        "vllm:iteration_tokens_total_sum": 12,
    }
    assert {name: round(gpu.sample(name), 6) for name in page} == page
