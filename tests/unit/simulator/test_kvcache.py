"""Block accounting of the paged KV cache."""

from simulator.kvcache import KvCache, block_hashes


def test_hashes_agree_exactly_while_the_prompts_agree() -> None:
    one = block_hashes("aaaabbbbcccc", 4)
    other = block_hashes("aaaabbbbdddd", 4)
    assert one[:2] == other[:2]
    assert one[2] != other[2]
    # The same block after another beginning is another block.
    assert block_hashes("xxxxbbbb", 4)[1] != one[1]


def test_only_full_blocks_are_hashed() -> None:
    assert [len(block_hashes("a" * length, 4)) for length in (0, 3, 4, 7, 8)] == [0, 0, 1, 1, 2]


def test_a_salt_separates_equal_prompts() -> None:
    assert block_hashes("aaaa", 4, "tenant") != block_hashes("aaaa", 4)


def test_shared_blocks_are_held_once_and_stay_cached_without_a_user() -> None:
    cache = KvCache(10)
    hashes = (1, 2, 3)
    assert cache.admit(hashes, 1)
    assert cache.admit(hashes, 1)
    assert cache.used == 5
    cache.release(hashes, 1)
    cache.release(hashes, 1)
    assert (cache.used, cache.cached_prefix(hashes)) == (0, 3)


def test_the_room_of_cached_blocks_is_taken_from_the_far_end_of_the_oldest_prefix() -> None:
    cache = KvCache(4)
    cache.admit((1, 2, 3), 0)
    cache.release((1, 2, 3), 0)
    assert cache.admit((7,), 1)
    assert cache.cached_prefix((1, 2, 3)) == 2
    assert cache.cached_prefix((7,)) == 1


def test_what_does_not_fit_takes_nothing() -> None:
    cache = KvCache(3)
    assert cache.admit((1, 2), 0)
    assert not cache.admit((3, 4), 0)
    assert not cache.grow(2)
    assert cache.grow(1)
    assert (cache.used, cache.usage) == (3, 1.0)


def test_without_prefix_caching_equal_prompts_share_nothing() -> None:
    cache = KvCache(10, prefix_caching=False)
    assert cache.admit((1, 2), 1)
    assert cache.admit((1, 2), 1)
    assert (cache.used, cache.cached_prefix((1, 2))) == (6, 0)
    cache.release((1, 2), 1)
    assert cache.used == 3
