from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from pydantic import Field

from chaffinch.api.generate import generated_files, main, stale_files
from chaffinch.api.schema import structural_schema
from chaffinch.api.v1alpha1.common import SpecModel
from chaffinch.api.v1alpha1.names import baseline_object_name, load_probe_name, revision_name, router_name
from chaffinch.api.v1alpha1.parse import parse_profile
from chaffinch.api.v1alpha1.profiles_builtin import BUILT_IN_PROFILES

REPOSITORY = Path(__file__).parents[3]
CRDS = {path: yaml.safe_load(text) for path, text in generated_files().items() if path.startswith("crds/")}


def test_the_generated_files_in_the_repository_are_up_to_date() -> None:
    assert list(stale_files(REPOSITORY)) == []


def test_the_check_names_each_stale_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path)]) == 0
    assert main(["--check", "--root", str(tmp_path)]) == 0
    (tmp_path / "crds/chaffinch.dev_loadprobes.yaml").write_text("kind: Something\n")
    capsys.readouterr()
    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "crds/chaffinch.dev_loadprobes.yaml is out of date: run python -m chaffinch.api.generate\n"
    )


def schemas_in(node: object, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return every schema below a node with its path."""
    if not isinstance(node, dict):
        return []
    found = [(path, node)] if "type" in node or "x-kubernetes-int-or-string" in node else []
    for field, value in node.get("properties", {}).items():
        found += schemas_in(value, f"{path}.{field}")
    found += schemas_in(node.get("items"), f"{path}[]")
    return found + schemas_in(node.get("additionalProperties"), f"{path}{{}}")


@pytest.mark.parametrize("path", CRDS)
def test_every_part_of_a_crd_is_bounded_and_has_no_default(path: str) -> None:
    schema = CRDS[path]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    root = {name: schema["properties"][name] for name in ("spec", "status") if name in schema["properties"]}
    schemas = schemas_in({"properties": root})
    assert schemas
    for where, node in schemas:
        assert "default" not in node, where
        assert "$ref" not in node, where
        match node.get("type"):
            case "string":
                assert "maxLength" in node or "enum" in node, where
            case "array":
                assert "maxItems" in node, where
                assert node["x-kubernetes-list-type"] in ("map", "atomic"), where
            case "integer":
                assert {"minimum", "maximum"} <= node.keys(), where
            case "object":
                # Without either nothing fits in, as all that is not declared is dropped.
                assert "x-kubernetes-preserve-unknown-fields" not in node, where
                assert "additionalProperties" not in node or "maxProperties" in node, where
            case "number":
                pytest.fail(f"{where} is a float")


@pytest.mark.parametrize("path", CRDS)
def test_nothing_is_written_empty_since_it_would_not_be_stored(path: str) -> None:
    assert list(empty_parts(CRDS[path]["spec"]["versions"][0]["schema"])) == []


def empty_parts(document: object, where: str = "") -> Iterator[str]:
    """Yield where a document holds an empty map or list."""
    match document:
        case dict() | list() if not document:
            yield where
        case dict():
            for name, part in document.items():
                yield from empty_parts(part, f"{where}.{name}")
        case list():
            for part in document:
                yield from empty_parts(part, f"{where}[]")


def test_every_field_of_a_crd_is_described() -> None:
    for path, crd in CRDS.items():
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        undescribed = [
            where for where, node in schemas_in(schema) if "description" not in node and where[-1:].isalnum()
        ]
        assert undescribed == [], path


def test_a_model_without_a_bound_is_refused_by_the_generator() -> None:
    class Unbounded(SpecModel):
        words: Annotated[tuple[str, ...], Field(max_length=3)]

    with pytest.raises(ValueError, match=r"Unbounded\.words\[\]: a string needs one of maxLength, enum"):
        structural_schema(Unbounded)


def test_a_choice_between_types_is_refused_by_the_generator() -> None:
    class Choice(SpecModel):
        either: int | str

    with pytest.raises(ValueError, match="a CRD has no choice between types"):
        structural_schema(Choice)


@pytest.mark.parametrize("reference", BUILT_IN_PROFILES)
def test_a_built_in_profile_keeps_the_rules_and_its_manifest_says_the_same(reference: str) -> None:
    text = (REPOSITORY / f"baselines/profile-{reference.replace('/', '-')}.yaml").read_text()
    assert parse_profile(yaml.safe_load(text)) == BUILT_IN_PROFILES[reference]


def test_derived_names_fit_a_label_whatever_the_rollout_is_called() -> None:
    longest = "a" * 40
    names = [
        router_name(longest),
        revision_name(longest, "0a1b2c3d"),
        load_probe_name(longest, "0a1b2c3d", attempt=999, step=11),
    ]
    assert names == [
        f"{longest}-router",
        f"{longest}-0a1b2c3d",
        f"{longest}-0a1b2c3d-a999-s11",
    ]
    assert all(len(name) <= 60 for name in names)
    assert baseline_object_name("chat-a100", "v2.4.1") == "chat-a100-v2.4.1"
