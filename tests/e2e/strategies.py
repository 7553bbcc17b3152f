"""The steps and objectives that most stories roll out by."""

from __future__ import annotations

from stage.service import WARM_UP

STEPS = (
    WARM_UP,
    {"name": "canary-20", "canary": {"weight": 20, "for": "5s"}},
    {"name": "canary-50", "canary": {"weight": 50, "for": "5s"}},
    {"name": "bake", "bake": {"for": "5s"}},
)
# Wide limits, so that few requests suffice: how fine a difference can be seen is the unit tests' business.
OBJECTIVES = (
    {"name": "ttft-p95", "metric": "ttft", "quantile": "p95", "max": "800ms", "maxRegression": "20%"},
    {"name": "errors", "metric": "errorRate", "max": "3%", "maxIncrease": "3pp"},
)
