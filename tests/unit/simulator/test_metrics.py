"""The metrics page: names, labels and edges that the operator and dashboards rely on."""

import re

import pytest

from simulator.exposition import Registry
from simulator.metrics import EngineMetrics, bucket_edges, register_info
from simulator.settings import Capacity, Settings
from unit.simulator.harness import VirtualEngine

NAMES = {
    "vllm:num_requests_running": "gauge",
    "vllm:num_requests_waiting": "gauge",
    "vllm:kv_cache_usage_perc": "gauge",
    "vllm:prefix_cache_queries_total": "counter",
    "vllm:prefix_cache_hits_total": "counter",
    "vllm:num_preemptions_total": "counter",
    "vllm:prompt_tokens_total": "counter",
    "vllm:prompt_tokens_cached_total": "counter",
    "vllm:generation_tokens_total": "counter",
    "vllm:request_success_total": "counter",
    "vllm:request_prompt_tokens": "histogram",
    "vllm:request_generation_tokens": "histogram",
    "vllm:request_params_max_tokens": "histogram",
    "vllm:iteration_tokens_total": "histogram",
    "vllm:time_to_first_token_seconds": "histogram",
    "vllm:inter_token_latency_seconds": "histogram",
    "vllm:request_time_per_output_token_seconds": "histogram",
    "vllm:e2e_request_latency_seconds": "histogram",
    "vllm:request_queue_time_seconds": "histogram",
    "vllm:request_inference_time_seconds": "histogram",
    "vllm:request_prefill_time_seconds": "histogram",
    "vllm:request_decode_time_seconds": "histogram",
}


def test_an_engine_has_vllms_families_under_vllms_labels() -> None:
    page = VirtualEngine().registry.render()
    assert dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE)) == NAMES
    samples = [line for line in page.splitlines() if not line.startswith("#")]
    assert all('engine="0"' in line and 'model_name="m"' in line for line in samples)


@pytest.mark.parametrize(
    ("family", "want_first", "want_last", "want_count"),
    [
        ("time_to_first_token", 0.001, 2560.0, 22),
        ("inter_token_latency", 0.01, 80.0, 19),
        ("request_latency", 0.3, 7680.0, 21),
        ("iteration_tokens", 1.0, 16384.0, 13),
        ("request_tokens", 1.0, 20000.0, 14),
    ],
)
def test_default_edges_are_vllms(family: str, want_first: float, want_last: float, want_count: int) -> None:
    edges = bucket_edges({}, max_model_len=32768)[family]
    assert (edges[0], edges[-1], len(edges)) == (want_first, want_last, want_count)
    assert list(edges) == sorted(set(edges))


def test_token_edges_follow_the_model_length() -> None:
    assert bucket_edges({}, 1000)["request_tokens"] == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def test_replaced_edges_hold_for_every_histogram_of_their_family() -> None:
    settings = Settings(served_names=("m",), buckets={"inter_token_latency": (0.5, 1.0)})
    registry = Registry()
    EngineMetrics(registry, settings, 0)
    page = registry.render()
    for name in ("inter_token_latency_seconds", "request_time_per_output_token_seconds"):
        edges = re.findall(rf'vllm:{name}_bucket{{engine="0",le="([^"]+)"', page)
        assert edges == ["0.5", "1.0", "+Inf"]


def test_each_engine_of_a_data_parallel_pod_has_its_own_series_under_one_heading() -> None:
    registry = Registry()
    for engine in range(2):
        EngineMetrics(registry, Settings(served_names=("chat",)), engine)
    page = registry.render()
    assert page.count("# TYPE vllm:prompt_tokens_total counter") == 1
    assert re.findall(r"^vllm:prompt_tokens_total(.*)$", page, re.MULTILINE) == [
        '{engine="0",model_name="chat"} 0.0',
        '{engine="1",model_name="chat"} 0.0',
    ]


def test_configuration_is_told_in_labels() -> None:
    registry = Registry()
    register_info(registry, Settings(capacity=Capacity(num_gpu_blocks=512), enable_lora=True, max_loras=4))
    assert [line for line in registry.render().splitlines() if not line.startswith("#")] == [
        (
            'vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",'
            'engine="0",num_gpu_blocks="512"} 1.0'
        ),
        'vllm:lora_requests_info{max_lora="4",running_lora_adapters="",waiting_lora_adapters=""} 0.0',
    ]


def test_a_histogram_counts_at_or_under_each_edge() -> None:
    registry = Registry()
    histogram = registry.histogram("h", "Help.", (1.0, 2.0), a="b")
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    assert registry.render() == (
        "# HELP h Help.\n"
        "# TYPE h histogram\n"
        'h_bucket{a="b",le="1.0"} 2.0\n'
        'h_bucket{a="b",le="2.0"} 3.0\n'
        'h_bucket{a="b",le="+Inf"} 4.0\n'
        'h_count{a="b"} 4.0\n'
        'h_sum{a="b"} 12.0\n'
    )


def test_label_values_are_escaped() -> None:
    registry = Registry()
    registry.counter("c", "Help.", model='a"b\\c\nd').add(2)
    assert registry.render().splitlines()[-1] == r'c_total{model="a\"b\\c\nd"} 2.0'
