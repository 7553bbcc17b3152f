"""What a load probe measured in one stage, as it is kept in probes and frozen in baselines.

Sketches are sparse bucket counts on the global latency grid, as text; there is no float in them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from chaffinch.api.v1alpha1.common import Count, Name, SpecModel
from chaffinch.api.v1alpha1.profile import Concurrency

Sketch = Annotated[
    str, StringConstraints(max_length=8192, pattern=r"^([0-9]{1,3}:[0-9]{1,12}( [0-9]{1,3}:[0-9]{1,12})*)?$")
]
"""Bucket counts: ``bucket:count`` pairs in rising order, joined by single spaces."""


class Sketches(SpecModel):
    """The latencies of one stage; a failed request counts in the last bucket."""

    ttft: Sketch | None = None
    """Time to first token."""
    e2e: Sketch | None = Field(default=None, alias="e2e")
    """Time to last token."""
    tpot: Sketch | None = None
    """Time per output token after the first, one value per request."""


class StageMeasurement(SpecModel):
    """What one stage measured."""

    name: Name
    """The stage."""
    concurrency: Concurrency
    """Clients that each had one request open."""
    requests: Count
    """Requests that ended, well or not."""
    errors: Count
    """Those of them that failed."""
    duration_millis: Annotated[int, Field(strict=True, ge=0, le=86_400_000)]
    """How long the stage took, in milliseconds."""
    sketches: Sketches
    """The latencies."""
