"""``python -m chaffinch.agent [serve|drain]``: the agent, or its part in ending a pod."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys

import uvloop

from chaffinch.agent.kube import ApiServer
from chaffinch.agent.process import drain, serve
from chaffinch.agent.settings import SettingsError, read_settings
from chaffinch.api.exits import AgentExit


def main(arguments: list[str]) -> AgentExit:
    """Run a command; return the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        settings = read_settings(os.environ)
        server = ApiServer.in_cluster(os.environ)
    except (SettingsError, KeyError) as error:
        logging.critical("the agent cannot start: %s", error)
        return AgentExit.USAGE
    if arguments not in (["serve"], ["drain"]):
        logging.critical("usage: python -m chaffinch.agent serve|drain")
        return AgentExit.USAGE
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if arguments == ["serve"]:
            runner.run(serve(settings, server, secrets.token_hex(4)))
        else:
            runner.run(drain(settings))
    return AgentExit.ENDED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
