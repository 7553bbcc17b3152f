"""The paged key-value cache: who holds how many blocks, and which prompt prefixes are still there.

Full blocks of a prompt are shared between requests that start alike and stay cached, evictable, after
their last user is gone; the rest of a sequence (its last prompt block and what it generates) is private.
That is enough for use, prefix hits and preemptions to move as vLLM's do. Unlike vLLM, blocks of
generated tokens are not kept for a later turn of the same conversation.
"""

from collections import OrderedDict
from collections.abc import Sequence


def block_hashes(tokens: Sequence[object], block_size: int, salt: str = "") -> tuple[int, ...]:
    """Chained hashes of the full blocks of a prompt: equal exactly while the prompts are equal."""
    hashes: list[int] = []
    parent = hash(salt)
    for start in range(0, len(tokens) - block_size + 1, block_size):
        parent = hash((parent, *tokens[start : start + block_size]))
        hashes.append(parent)
    return tuple(hashes)


class KvCache:
    """Block accounting of one engine; blocks are interchangeable, so only numbers and hashes are kept."""

    def __init__(self, num_blocks: int, *, prefix_caching: bool = True) -> None:
        self.num_blocks = num_blocks
        self._prefix_caching = prefix_caching
        self._users: dict[int, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._private = 0

    @property
    def used(self) -> int:
        """Blocks held by requests; cached blocks without a user are free for the taking."""
        return len(self._users) + self._private

    @property
    def usage(self) -> float:
        """Share of all blocks that requests hold, 0..1."""
        return self.used / self.num_blocks

    def cached_prefix(self, hashes: Sequence[int]) -> int:
        """Number of leading blocks of a prompt that need no computing."""
        if not self._prefix_caching:
            return 0
        for count, value in enumerate(hashes):
            if value not in self._users and value not in self._idle:
                return count
        return len(hashes)

    def admit(self, hashes: Sequence[int], private: int) -> bool:
        """Take a prompt's full blocks and ``private`` more; False, with nothing taken, if they do not fit."""
        if not self._prefix_caching:
            return self.grow(len(hashes) + private)
        new = sum(1 for value in hashes if value not in self._users)
        if self.used + new + private > self.num_blocks:
            return False
        for value in hashes:
            self._users[value] = self._users.get(value, 0) + 1
            self._idle.pop(value, None)
        self._private += private
        self._evict()
        return True

    def grow(self, private: int) -> bool:
        """Take ``private`` blocks for a running sequence; False, with nothing taken, if they do not fit."""
        if self.used + private > self.num_blocks:
            return False
        self._private += private
        self._evict()
        return True

    def release(self, hashes: Sequence[int], private: int) -> None:
        """Give back what a sequence holds; its prompt's blocks stay cached until others need the room."""
        if not self._prefix_caching:
            self._private -= len(hashes) + private
            return
        self._private -= private
        # Last block first: eviction then eats prefixes from their far end, as vLLM's free queue does.
        for value in reversed(hashes):
            self._users[value] -= 1
            if not self._users[value]:
                del self._users[value]
                self._idle[value] = None

    def _evict(self) -> None:
        while self.used + len(self._idle) > self.num_blocks:
            self._idle.popitem(last=False)
