"""What `core.bus` publishes is what the channel layer of the sockets reads."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, cast

from channels_redis.pubsub import RedisPubSubChannelLayer
from django.conf import settings

from core import bus


def make_layer() -> RedisPubSubChannelLayer:
    config = cast("dict[str, Any]", settings.CHANNEL_LAYERS["default"]["CONFIG"])
    return RedisPubSubChannelLayer(**config)


async def test_a_plain_publish_arrives_as_a_message_of_the_layer() -> None:
    layer = make_layer()
    group = bus.person_group(uuid.uuid4())
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    message: dict[str, bus.Value] = {"type": "chat.event", "seq": 2**40, "frame": '{"body":"é🙂"}'}

    await asyncio.to_thread(bus.publish, group, message)

    assert await asyncio.wait_for(layer.receive(channel), 5) == message
    await layer.flush()


async def test_the_publisher_keeps_the_order_and_its_messages_are_those_of_group_send() -> None:
    layer = make_layer()
    group = bus.person_group(uuid.uuid4())
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    publisher = bus.Publisher()

    for number in range(50):
        publisher.publish(group, {"type": "chat.event", "seq": number})

    received = [await asyncio.wait_for(layer.receive(channel), 5) for _ in range(50)]
    assert [message["seq"] for message in received] == list(range(50))
    await layer.group_send(group, {"type": "chat.event", "seq": 50})
    assert await asyncio.wait_for(layer.receive(channel), 5) == {"type": "chat.event", "seq": 50}
    await publisher.close()
    await layer.flush()


async def test_beyond_its_limit_it_drops_and_never_waits() -> None:
    publisher = bus.Publisher(most=10)

    for number in range(100):
        publisher.publish("nobody", {"type": "chat.event", "seq": number})

    assert len(publisher._waiting) == 10
    await publisher.close()


async def test_an_idle_layer_still_delivers_after_more_than_the_drivers_timeout() -> None:
    """redis-py 8 gives a socket 5 s by default."""
    layer = make_layer()
    group = bus.person_group(uuid.uuid4())
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    await asyncio.sleep(6)

    await asyncio.to_thread(bus.publish, group, {"type": "chat.event", "seq": 1})

    assert (await asyncio.wait_for(layer.receive(channel), 5))["seq"] == 1
    await layer.flush()
