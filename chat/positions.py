"""The sweep that finds what the bus lost: where every mailbox of this process is, asked in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chat.store import Store

if TYPE_CHECKING:
    from chat.device import Device

EVERY_S = 5.0
BATCH = 1000


async def sweep(store: Store, devices: Sequence[Device]) -> None:
    """Tell each device where its mailbox is and which generation may speak. Raises what the store raises."""
    for start in range(0, len(devices), BATCH):
        some = devices[start : start + BATCH]
        positions = await store.positions([device.person for device in some])
        for device in some:
            position = positions.get(device.person)
            if position is None:
                continue
            if position.gen > device.gen:
                device.replaced_by(position.gen)
            else:
                device.notice(position.last)
