from __future__ import annotations

import asyncio

from chaffinch.probe.slots import Slots


async def test_a_place_is_taken_only_while_there_is_one() -> None:
    slots = Slots()
    slots.resize(2)
    assert [await slots.take(0.01) for _ in range(3)] == [True, True, False]
    slots.give_back()
    assert await slots.take(0.01)
    assert slots.taken == 2


async def test_a_waiter_gets_the_place_that_is_given_back() -> None:
    slots = Slots()
    slots.resize(1)
    assert await slots.take()
    waiter = asyncio.create_task(slots.take(5))
    await asyncio.sleep(0)
    slots.give_back()
    assert await waiter


async def test_more_places_are_there_at_once() -> None:
    slots = Slots()
    waiter = asyncio.create_task(slots.take(5))
    await asyncio.sleep(0)
    slots.resize(1)
    assert await waiter


async def test_fewer_places_let_the_open_ones_end_first() -> None:
    slots = Slots()
    slots.resize(3)
    for _ in range(3):
        await slots.take()
    slots.resize(1)
    slots.give_back()
    slots.give_back()
    assert not await slots.take(0.01)
    slots.give_back()
    assert await slots.take(0.01)
