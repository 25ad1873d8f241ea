"""What the server does for each kind of client frame."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, assert_never

from chat import announcing, changing, presence, protocol, sending
from chat.database import in_thread
from chat.drain import Delivery
from chat.messages import Event
from chat.presence import Here, Presence
from chat.protocol import Ack, Close, Delete, Edit, Hello, Ping, Read, Send, Typing
from chat.services.messages import check_rate
from core import metrics
from core.errors import Conflict, NotFound, Unprocessable

if TYPE_CHECKING:
    from chat.device import Device
    from chat.hub import Hub


class Conversing:
    """Answers frames with the store and the bus of a hub. Every write is fenced by the device's generation."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def answer(self, device: Device, frame: protocol.ClientFrame) -> None:
        """Raises DomainError for a frame that is refused, and what the store raises."""
        if isinstance(frame, Hello):
            await self._greet(device, frame)
            return
        if not device.greeted:
            raise Unprocessable("The first frame is `hello`.", code="hello_first")
        if isinstance(frame, Send | Edit | Delete):
            check_rate(device.person)
            await self._write(device, frame)
            return
        match frame:
            case Read():
                await self._mark_read(device, frame)
            case Ack():
                await self._acknowledge(device, frame.upto, frame.gen)
            case Typing():
                await self._type(device, frame)
            case Ping():
                await self._pong(device, frame)
            case _:
                assert_never(frame)

    async def _write(self, device: Device, frame: Send | Edit | Delete) -> None:
        sender, gen = device.person, device.gen
        match frame:
            case Send():
                await self._send(device, frame)
            case Edit():
                change = changing.edit(sender=sender, message=frame.message, body=frame.body, gen=gen)
                await self._change(device, frame.id, change)
            case Delete():
                await self._change(device, frame.id, changing.delete(sender=sender, message=frame.message, gen=gen))
            case _:
                assert_never(frame)

    async def _greet(self, device: Device, hello: Hello) -> None:
        if device.greeted:
            raise Conflict("This socket was greeted before.", code="hello_twice")
        if hello.protocol != protocol.VERSION:
            raise Unprocessable(f"This server speaks version {protocol.VERSION}.", code="protocol_version")
        position = await self._hub.store.take_over(person=device.person, page=hello.page)
        if position is None:
            device.end(Close.TRY_LATER)
            return
        unread = await self._hub.store.unread(device.person)
        valid = hello.have is None or position.acked <= hello.have <= position.last
        base = hello.have if valid and hello.have is not None else position.acked
        device.gen = position.gen
        device.tell(
            {
                "type": "welcome",
                "protocol": protocol.VERSION,
                "gen": position.gen,
                "person": str(device.person),
                "base": base,
                "unread": [
                    {"conversation": str(each.conversation), "count": each.count, "muted": each.muted}
                    for each in unread
                ],
            }
        )
        if not valid:
            device.tell({"type": "reset", "base": base})
        device.delivery = Delivery(sent=base)
        metrics.CHAT_DRAINS.labels("hello").inc()
        self._hub.add(device)
        self._hub.publisher.publish(*announcing.replaced(device.person, position.gen))
        if base > position.acked:
            await self._acknowledge(device, base, position.gen)
        device.wake()
        await in_thread(presence.refresh, [Here(person=device.person, gen=device.gen, silent_s=0.0)])

    async def _send(self, device: Device, asked: Send) -> None:
        draft = sending.draft(
            sender=device.person,
            conversation=asked.conversation,
            client_msg_id=asked.id,
            body=asked.body,
            reference=asked.reference,
            gen=device.gen,
        )
        sent = await self._hub.store.send(draft)
        metrics.CHAT_SENT.labels("duplicate" if sent.duplicate else "stored").inc()
        if sent.event is not None:
            self._hub.publisher.publish(*announcing.event(sent.event))
        device.tell(
            {
                "type": "sent",
                "id": str(asked.id),
                "message": str(sent.message.id),
                "conversation": str(sent.message.conversation),
                "seq": sent.message.seq,
                "created_at": sent.message.created_at.isoformat(),
                "duplicate": sent.duplicate,
            }
        )

    async def _change(self, device: Device, about: uuid.UUID, change: changing.Change) -> None:
        changed = await self._hub.store.change(change)
        message = changed.message if isinstance(changed, Event) else changed
        if isinstance(changed, Event):
            self._hub.publisher.publish(*announcing.event(changed))
        device.tell({"type": "changed", "id": str(about), "message": message.as_json()})

    async def _mark_read(self, device: Device, read: Read) -> None:
        marked = await self._hub.store.mark_read(person=device.person, conversation=read.conversation, upto=read.upto)
        if marked is None:
            raise NotFound
        receipt, may_know = marked
        if may_know:
            self._hub.publisher.publish(*announcing.receipt(receipt))

    async def _acknowledge(self, device: Device, upto: int, gen: int) -> None:
        if gen != device.gen or device.delivery is None or upto > device.delivery.sent:
            return
        for receipt in await self._hub.store.acknowledge(person=device.person, upto=upto, gen=gen):
            self._hub.publisher.publish(*announcing.receipt(receipt))
        device.delivery.acknowledge(upto)
        device.wake()

    async def _type(self, device: Device, typing: Typing) -> None:
        now = time.monotonic()
        if now - device.typed_at < protocol.TYPING_EVERY_S:
            return
        device.typed_at = now
        peer = await self._hub.store.typing_peer(person=device.person, conversation=typing.conversation)
        if peer is not None:
            announcement = announcing.typing(person=device.person, conversation=typing.conversation, peer=peer)
            self._hub.publisher.publish(*announcement)

    async def _pong(self, device: Device, ping: Ping) -> None:
        if device.delivery is not None:
            device.tell({"type": "pong", "upto": device.delivery.sent, "gen": device.gen})
        if not ping.peers:
            return
        visible = await self._hub.store.visible_peers(person=device.person, peers=ping.peers)
        here = await in_thread(presence.read, list(visible))
        people = []
        for peer, stored in visible.items():
            known = here.get(peer, Presence(online=False, last_seen=None))
            last_seen = max(stored, known.last_seen) if known.last_seen else stored
            seen = last_seen.isoformat() if last_seen.timestamp() > 0 else None
            people.append({"id": str(peer), "online": known.online, "last_seen": None if known.online else seen})
        device.tell({"type": "presence", "people": people})
