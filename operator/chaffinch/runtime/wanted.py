"""What a pass wants one object to be, with a digest by which the next passes know it again.

A pass asks for the digest of the same manifest wherever it compares: when it looks for what others have
changed, and when it writes. It is taken once, and not at all of an object that nothing is asked about.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property

from chaffinch.ports.cluster import Manifest
from chaffinch.runtime.reading import Address, address_of


class Wanted:
    """What one object should be.

    Args:
        manifest: The object, with the fields that are wanted of it. It must not change any more.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest

    @cached_property
    def address(self) -> Address:
        """Kind and name."""
        return address_of(self.manifest)

    @property
    def kind(self) -> str:
        """Its kind."""
        return self.address[0]

    @cached_property
    def digest(self) -> bytes:
        """8 bytes that differ where manifests do."""
        text = json.dumps(self.manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).digest()[:8]
