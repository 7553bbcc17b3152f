"""Secrets, prompts and answers, sown where users and engines have them, and looked for everywhere else.

What the API server keeps is read from etcd itself, byte by byte, so that no object, field or Event is left
out; only Secrets may hold what was put into them. Logs are read at DEBUG.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx

from localcluster.settings import PROMETHEUS_URL
from stage.kubectl import Kubectl

SECRET, TOKEN_KEY = "model-hub", "token"
TOKEN = "seeded-hub-token-5f0c1e"
API_KEY = "seeded-api-key-91d7aa"
PROMPT = "seeded-prompt-c4e802"

_ETCD_RANGE = "http://127.0.0.1:2379/v3/kv/range"
_ALL = base64.b64encode(b"\0").decode()
_SECRETS = b"/registry/secrets/"
_SECONDS = 30.0
_WORDS = 8  # of an answer: nobody writes the same eight by chance


@dataclass(slots=True)
class Seeds:
    """What must be nowhere.

    Attributes:
        answers: Beginnings of what engines have answered.
    """

    answers: set[str] = field(default_factory=set)

    @property
    def all(self) -> tuple[bytes, ...]:
        """Every seed, also as an encoded value of a Secret would have it."""
        plain = [TOKEN, API_KEY, PROMPT, *sorted(self.answers)]
        return (*(seed.encode() for seed in plain), base64.b64encode(TOKEN.encode()).rstrip(b"="))

    def sow(self, url: str, model: str) -> None:
        """Ask a service as its users do, with a key and a prompt, rightly and wrongly."""
        headers = {"Authorization": f"Bearer {API_KEY}"}
        messages = [{"role": "user", "content": PROMPT}]
        # An answer that ended by itself might be too short to be told apart.
        asked = {"model": model, "max_tokens": 16, "ignore_eos": True, "messages": messages}
        with httpx.Client(headers=headers, timeout=_SECONDS, trust_env=False) as client:
            answer = client.post(f"{url}/v1/chat/completions", json=asked).raise_for_status().json()
            wrong = client.post(f"{url}/v1/chat/completions", json={**asked, "model": PROMPT})
        assert wrong.status_code == 404
        words = answer["choices"][0]["message"]["content"].split()
        assert len(words) >= _WORDS
        self.answers.add(" ".join(words[:_WORDS]))

    def found_in(self, texts: Mapping[str, bytes]) -> dict[str, list[str]]:
        """Return the seeds that are in texts, by the name of the text."""
        found = {name: [seed.decode() for seed in self.all if seed in text] for name, text in texts.items()}
        return {name: seeds for name, seeds in found.items() if seeds}


def stored() -> dict[bytes, bytes]:
    """Return every key and value that the API server keeps."""
    answer = httpx.post(_ETCD_RANGE, json={"key": _ALL, "range_end": _ALL}, timeout=_SECONDS, trust_env=False)
    pairs = answer.raise_for_status().json()["kvs"]
    return {base64.b64decode(pair["key"]): base64.b64decode(pair["value"]) for pair in pairs}


def is_secret(key: bytes) -> bool:
    """Say whether a key of etcd is that of a Secret."""
    return key.startswith(_SECRETS)


def logs(kubectl: Kubectl, selector: str) -> Iterator[tuple[str, bytes]]:
    """Yield what each container of some pods has logged, by its name."""
    for pod in kubectl.list("pods", f"--selector={selector}"):
        for container in pod["spec"]["containers"]:
            name, within = pod["metadata"]["name"], container["name"]
            yield f"{name}/{within}", kubectl("logs", name, f"--container={within}").encode()


def series() -> bytes:
    """Return names and labels of all series that Prometheus has of ours."""
    answer = httpx.get(
        f"{PROMETHEUS_URL}/api/v1/series", params={"match[]": '{__name__=~"chaffinch_.*"}'},
        timeout=_SECONDS, trust_env=False,
    )  # fmt: skip
    assert answer.raise_for_status().json()["data"]
    return answer.content
