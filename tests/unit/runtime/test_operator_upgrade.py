from __future__ import annotations

from dataclasses import replace

from chaffinch.ports.cluster import Kinds
from chaffinch.routing.settings import RouterSettings
from fakes.virtual_time import run
from fakes.world import NAME, NAMESPACE, Shop, rollout
from unit.runtime.shops import V2, at_canary, healthy, until


def upgraded(shop: Shop) -> Shop:
    """Let another version of the operator take over."""
    shop.world = replace(shop.world, router=RouterSettings("chaffinch:2", "envoy:1", replicas=3))
    shop.restart()
    return shop


def router(shop: Shop) -> tuple[str, int]:
    """Return the image of the routers' agent, and how many routers there are to be."""
    spec = shop.cluster.read(Kinds.DEPLOYMENT, NAMESPACE, f"{NAME}-router")["spec"]
    return spec["template"]["spec"]["initContainers"][0]["image"], spec["replicas"]


def test_an_upgrade_restarts_no_router_of_a_healthy_rollout_until_its_next_attempt() -> None:
    async def story() -> None:
        shop = upgraded(await healthy())
        await shop.run_pass()
        await shop.run_pass()
        assert router(shop) == ("chaffinch:1", 3)
        shop.apply(rollout(**V2))
        await shop.run_pass()
        assert router(shop) == ("chaffinch:2", 3)
        assert shop.weights == {shop.status["stable"]["revision"]: 10_000}
        await until(shop, lambda: shop.status.get("phase") == "Healthy")
        assert router(shop) == ("chaffinch:2", 3)

    run(story())


def test_an_upgrade_in_the_middle_of_an_attempt_restarts_no_router() -> None:
    async def story() -> None:
        shop = upgraded(await at_canary())
        shop.evidence.answer = None
        await until(shop, lambda: shop.status.get("phase") == "Healthy")
        assert router(shop) == ("chaffinch:1", 3)

    run(story())
