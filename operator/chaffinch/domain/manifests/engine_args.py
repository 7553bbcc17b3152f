"""Turns typed engine arguments into the command line of ``vllm serve``."""

from __future__ import annotations

from chaffinch.api.v1alpha1.rollout import InferenceRolloutSpec
from chaffinch.domain.manifests.common import ENGINE_PORT

COMMAND = ["vllm", "serve"]


def engine_arguments(spec: InferenceRolloutSpec) -> list[str]:
    """Return the arguments after ``vllm serve``: ours first, then typed ones by name, then the user's."""
    model = spec.model
    arguments = [model.source, "--served-model-name", model.name, "--port", str(ENGINE_PORT)]
    if model.revision is not None:
        arguments += ["--revision", model.revision]
    typed = spec.engine.args.model_dump(mode="json", exclude_none=True) if spec.engine.args else {}
    for name, value in sorted(typed.items()):
        arguments += _flag(name.replace("_", "-"), value)
    return [*arguments, *spec.engine.extra_args]


def _flag(name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", str(value)]
