"""Says in words what each pattern of the API asks for.

A pattern alone is a poor message: the generator puts these sentences beside the patterns in the
CRDs, and the parser answers with them.
"""

from __future__ import annotations

from chaffinch.api.v1alpha1 import common, engine, quantities
from chaffinch.api.v1alpha1.baseline import BASELINE_VERSION_PATTERN
from chaffinch.api.v1alpha1.profile import PROFILE_REFERENCE_PATTERN

REMEDIES: dict[str, str] = {
    quantities.DURATION_PATTERN: "write a duration as a whole number and s, m or h, such as 90s or 15m",
    quantities.LIMIT_PATTERN: (
        "write a limit as a number with its unit and without a space: ms or s for a latency, "
        "% for errorRate; such as 85ms or 0.1%"
    ),
    quantities.PERCENT_PATTERN: "write percent, such as 5%",
    quantities.PERCENTAGE_POINTS_PATTERN: "write percentage points, such as 0.5pp",
    quantities.RESOURCE_AMOUNT_PATTERN: "write a resource amount such as 4, 500m or 16Gi",
    common.NAME_PATTERN: (
        "a name has lower case letters, digits and dashes, begins with a letter "
        "and ends with a letter or digit"
    ),
    common.OBJECT_NAME_PATTERN: "name an object of the same namespace, without namespace or path",
    engine.MODEL_SOURCE_PATTERN: "write a repository id such as org/model, or a path; URLs are not allowed",
    engine.MODEL_NAME_PATTERN: (
        "the name that clients ask for has letters, digits, dots, dashes, underscores and slashes, "
        "and begins with a letter or digit"
    ),
    engine.MODEL_REVISION_PATTERN: "write a commit, tag or branch of the repository; URLs are not allowed",
    engine.IMAGE_PATTERN: "write an image such as vllm/vllm-openai@sha256:<digest>; URLs are not allowed",
    engine.ENV_NAME_PATTERN: "a variable's name has letters, digits and underscores and begins with no digit",
    engine.LABEL_KEY_PATTERN: "write a key as name or domain/name, such as nvidia.com/gpu",
    engine.GPU_MEMORY_UTILIZATION_PATTERN: (
        'write a share above 0 and up to 1 with at most two decimals, quoted: "0.90"'
    ),
    PROFILE_REFERENCE_PATTERN: (
        "name a built-in profile (standard/v1, heavy/v1, smoke/v1) or a ProbeProfile of the same namespace"
    ),
    BASELINE_VERSION_PATTERN: "a version has lower case letters, digits and dots, such as v2.4.1; no dashes",
}
"""The remedy for a value that does not match, by pattern; patterns that explain themselves have none."""
