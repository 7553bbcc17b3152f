"""A port on the host reaches an address inside."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from localcluster import forward
from localcluster.errors import ClusterError


@pytest.mark.parametrize("target", ["host", "host:http", ":80"])
def test_a_forward_target_without_a_port_is_refused(target: str, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="is no target"):
        forward.resolve(target, None, tmp_path)  # type: ignore[arg-type]


def test_a_relay_carries_bytes_both_ways_and_passes_on_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(forward, "enter_this_thread", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as server, forward.listen(0) as listener:
        threading.Thread(
            target=forward.serve, args=(listener, server.getsockname(), tmp_path), daemon=True
        ).start()
        with socket.create_connection(listener.getsockname(), timeout=5) as client:
            inside, _ = server.accept()
            with inside:
                inside.settimeout(5)
                client.sendall(b"question")
                client.shutdown(socket.SHUT_WR)
                assert b"".join(iter(lambda: inside.recv(100), b"")) == b"question"
                inside.sendall(b"answer")
            assert b"".join(iter(lambda: client.recv(100), b"")) == b"answer"
        listener.shutdown(socket.SHUT_RDWR)
