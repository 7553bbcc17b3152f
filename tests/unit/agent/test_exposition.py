from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from chaffinch.agent.blocks import ArmKey
from chaffinch.agent.exposition import Own, exposition
from chaffinch.domain.block_vector import BlockVector, LatencyCounts
from chaffinch.domain.vector_series import decode, own_label

COMMON = {"rollout_namespace": "llm", "rollout": "chat", "rollout_uid": "u-1", "agent": "chat-router-0-s1"}
VECTORS = {
    ArmKey(3, "aaaaaaaa"): BlockVector(
        100,
        101,
        (5, 1, 0, 0, 2, 0, 0, 0, 1, 0),
        LatencyCounts((0, 10), (1, 6), 9),
        LatencyCounts((4,), (2,), 8),
        LatencyCounts((0, 10), (0, 1), 3),
    ),
    ArmKey(3, "bbbbbbbb"): BlockVector(
        100,
        99,
        (0,) * 10,
        LatencyCounts((0, 10), (0, 0), 0),
        LatencyCounts((4,), (0,), 0),
        LatencyCounts((0, 10), (0, 0), 0),
    ),
}


def test_another_parser_reads_the_vectors_back() -> None:
    text = exposition(COMMON, VECTORS.items(), [])
    found: dict[ArmKey, dict[tuple[str, str], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert COMMON.items() <= sample.labels.items()
            arm = ArmKey(int(sample.labels["attempt"]), sample.labels["revision"])
            value = sample.labels.get(own_label(sample.name), "")
            found.setdefault(arm, {})[sample.name, value] = sample.value
    assert {arm: decode(samples) for arm, samples in found.items()} == VECTORS


def test_metrics_of_the_agent_carry_the_common_labels_and_foreign_text_is_escaped() -> None:
    own = Own("chaffinch_agent_weight", "gauge", "Effective weight.", {(("revision", 'a"\\\n'),): 7})
    text = exposition({"agent": "one"}, [], [own])
    assert text.endswith(
        "# HELP chaffinch_agent_weight Effective weight.\n"
        "# TYPE chaffinch_agent_weight gauge\n"
        'chaffinch_agent_weight{agent="one",revision="a\\"\\\\\\n"} 7\n'
    )
