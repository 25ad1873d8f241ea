"""Brings threads to a version: works out where their passages are in it, once, and keeps the answer.

What did not change is carried by the hash of its text alone; only texts that did change are read, each once, and two at
a time. A page asks for what can be done in a moment; a worker does the rest.
"""

from __future__ import annotations

import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from core.errors import StorageUnavailable
from playground.bodies import store
from playground.bodies.recent import recent_texts
from playground.models import Version
from review.anchors import OUTDATED, Change, Outcome
from review.models import Placement, PlacementState, Thread
from review.passages import Passage, places_of
from review.slots import Heirs, Slot, heirs_of, slots_of

#: What a page waits for, in bytes of texts times threads in them: some 100 ms. A worker does as much as there is.
AT_ONCE = 32 * 1024 * 1024
#: Of texts that did not take the place of the old one: bytes that are searched for words that moved there.
ELSEWHERE_BYTES = 8 * 1024 * 1024
MOST_THREADS = 2000


def line_of(version: Version, wanted: Iterable[int]) -> dict[int, int]:
    """By number, of the `wanted` versions: how many steps before `version` each is, if it was made from it.

    The whole tree is one query; a version that was merged in counts as what this one was made from.
    """
    left = set(wanted)
    if left <= {version.number}:
        return {version.number: 0} if left else {}
    parents = Version.objects.filter(prompt_id=version.prompt_id).parent_numbers()
    steps, found = {version.number: 0}, {}
    queue = deque([version.number])
    while queue and left:
        number = queue.popleft()
        if number in left:
            left.discard(number)
            found[number] = steps[number]
        for parent in parents.get(number, ()):
            if parent not in steps:
                steps[parent] = steps[number] + 1
                queue.append(parent)
    return found


def threads_of(version: Version) -> list[Thread]:
    """The threads that `version` shows: written on it, or on what it was made from. Oldest first, MOST_THREADS."""
    threads = Thread.objects.filter(prompt_id=version.prompt_id).select_related("version").defer("version__spec")
    numbers = set(threads.values_list("version__number", flat=True).distinct())
    line = line_of(version, numbers)
    return list(threads.filter(version__number__in=list(line)).order_by("pk")[:MOST_THREADS])


@dataclass(frozen=True, kw_only=True)
class _Start:
    """Where a thread is carried from: the nearest place that is certain. `refused`: a person said no on the way."""

    thread: Thread
    version_id: uuid.UUID
    placement: Placement
    refused: bool


@dataclass
class _Texts:
    """Texts of two versions, read as they are needed. `left`: bytes times threads to go, None for no limit."""

    prompt_id: uuid.UUID
    left: int | None
    sizes: dict[str, int] = field(default_factory=dict)

    def affords(self, names: Iterable[str], threads: int) -> bool:
        """Whether these texts may be searched for so many threads; if so, that is spent."""
        wanted = set(names)
        self.sizes |= store.lengths(prompt_id=self.prompt_id, sha256s=wanted - self.sizes.keys())
        if self.left is None:
            return True
        cost = threads * sum(self.sizes.get(name, 0) for name in wanted)
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def read(self, sha256: str) -> bytes:
        return recent_texts.get(prompt_id=self.prompt_id, sha256=sha256).data


def carry_threads(version: Version, threads: Sequence[Thread], *, most: int | None = AT_ONCE) -> int:
    """Work out the places of these threads in `version` that are not known yet. Answers how many are left to do.

    Places are stored text by text, so that a reader sees some while others are worked out. `most`: bytes times threads
    to go through now; None for all. A page is shown without what the store cannot give just now; only with None this
    raises StorageUnavailable.
    """
    texts = _Texts(prompt_id=version.prompt_id, left=most)
    left = 0
    for (old_id, index), starts in _by_text(_starts(version, _unplaced(version, threads))).items():
        try:
            found = _carried_from(old_id, index, starts, version, texts)
        except StorageUnavailable:
            if most is None:
                raise
            found = None
        if found is None:
            left += len(starts)
            continue
        # Somebody else may have worked out the same, or a person may have decided meanwhile: theirs stays.
        Placement.objects.bulk_create(found, ignore_conflicts=True)
    return left


def _carried_from(
    old_id: uuid.UUID, index: int, starts: Sequence[_Start], version: Version, texts: _Texts
) -> list[Placement] | None:
    """The places of threads that are carried from one text; None if that is too much for now."""
    old, new = slots_of(_frozen(old_id)), slots_of(version.frozen)
    heirs = heirs_of(old[index], old, new)
    if heirs.same is not None:
        return [_unchanged(start, version, heirs.same) for start in starts]
    if not texts.affords([old[index].sha256, *(slot.sha256 for slot in heirs.likely)], len(starts)):
        return None
    return list(_changed(starts, version, old[index], heirs, texts))


def _unplaced(version: Version, threads: Sequence[Thread]) -> list[Thread]:
    on_passage = [each for each in threads if each.is_on_passage]
    placed = set(Placement.objects.filter(version=version, thread__in=on_passage).values_list("thread_id", flat=True))
    return [each for each in on_passage if each.pk not in placed]


def _starts(version: Version, threads: Sequence[Thread]) -> list[_Start]:
    if not threads:
        return []
    known: dict[uuid.UUID, list[Placement]] = defaultdict(list)
    rows = Placement.objects.filter(thread__in=threads).select_related("version").defer("version__spec")
    for each in rows:
        known[each.thread_id].append(each)
    line = line_of(version, {each.version.number for group in known.values() for each in group})
    found = []
    for thread in threads:
        near = [each for each in known[thread.pk] if each.version.number in line]
        near.sort(key=lambda each: (line[each.version.number], -each.version.number))
        settled = [each for each in near if each.state in _SETTLED]
        if settled:
            before = near[: near.index(settled[0])]
            refused = any(each.decided_at is not None for each in before)
            found.append(_Start(thread=thread, version_id=settled[0].version_id, placement=settled[0], refused=refused))
    return found


_SETTLED = frozenset({PlacementState.WRITTEN, PlacementState.CARRIED, PlacementState.ACCEPTED})


def _by_text(starts: Iterable[_Start]) -> dict[tuple[uuid.UUID, int], list[_Start]]:
    grouped: dict[tuple[uuid.UUID, int], list[_Start]] = defaultdict(list)
    for each in starts:
        grouped[each.version_id, each.placement.text_index or 0].append(each)
    return grouped


def _frozen(version_id: uuid.UUID) -> dict[str, object]:
    return Version.objects.only("spec").get(pk=version_id).frozen


def _unchanged(start: _Start, version: Version, slot: Slot) -> Placement:
    was = start.placement
    return Placement(
        thread=start.thread,
        version=version,
        state=PlacementState.CARRIED,
        method="same_text",
        text_index=slot.index,
        start=was.start,
        end=was.end,
        point_start=was.point_start,
        point_end=was.point_end,
        unit_start=was.unit_start,
        unit_end=was.unit_end,
        words=was.words,
    )


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    slot: Slot
    text: bytes
    outcome: Outcome


def _changed(starts: Sequence[_Start], version: Version, old: Slot, heirs: Heirs, texts: _Texts) -> Iterator[Placement]:
    old_text = texts.read(old.sha256)
    best: dict[uuid.UUID, _Candidate] = {}
    for slot in heirs.likely:
        change = Change(old_text, texts.read(slot.sha256))
        for each in starts:
            candidate = _Candidate(slot=slot, text=change.new, outcome=change.carry(_passage(each)))
            best[each.thread.pk] = _better(best.get(each.thread.pk), candidate)
    lost = [each for each in starts if _is_lost(best.get(each.thread.pk))]
    for slot in _elsewhere(heirs, texts, len(lost)) if lost else ():
        text = texts.read(slot.sha256)
        for each in lost:
            outcome = _moved(Change(old_text, text).carry(_passage(each)))
            best[each.thread.pk] = _better(best.get(each.thread.pk), _Candidate(slot=slot, text=text, outcome=outcome))
    for each in starts:
        yield _placement(each, version, best.get(each.thread.pk))


def _passage(start: _Start) -> Passage:
    return Passage(start=start.placement.start or 0, end=start.placement.end or 0)


def _is_lost(candidate: _Candidate | None) -> bool:
    return candidate is None or candidate.outcome.state == "outdated"


def _elsewhere(heirs: Heirs, texts: _Texts, threads: int) -> list[Slot]:
    """Texts that words may have been moved to, as far as they are cheap to read."""
    found, left = [], ELSEWHERE_BYTES
    for slot in heirs.others:
        if texts.affords([slot.sha256], threads) and texts.sizes.get(slot.sha256, 0) <= left:
            left -= texts.sizes.get(slot.sha256, 0)
            found.append(slot)
    return found


def _moved(outcome: Outcome) -> Outcome:
    """In a text that did not take the old one's place, nothing is certain."""
    exact = outcome.state == "carried" or outcome.method == "elsewhere"
    return replace(outcome, state="suggested", method="elsewhere", confidence=0.99) if exact else OUTDATED


def _better(one: _Candidate | None, other: _Candidate) -> _Candidate:
    """Of two, the one to keep. The same words in both texts are certain in neither."""
    if one is None:
        return other
    first, second = sorted((one, other), key=lambda each: (each.outcome.state == "carried", each.outcome.confidence))
    if second.outcome.state == "carried" and (first.outcome.state == "carried" or first.outcome.method == "elsewhere"):
        outcome = replace(second.outcome, state="suggested", method="elsewhere", confidence=0.99)
        return replace(second, outcome=outcome)
    return second


def _placement(start: _Start, version: Version, found: _Candidate | None) -> Placement:
    outcome = found.outcome if found else OUTDATED
    if found is None or outcome.passage is None or (outcome.state == "suggested" and start.refused):
        return Placement(
            thread=start.thread, version=version, state=PlacementState.OUTDATED, method="none", confidence=0.0
        )
    placed = placement_at(start.thread, version, found.slot.index, found.text, outcome.passage)
    placed.state = PlacementState(outcome.state)
    placed.method, placed.confidence = outcome.method, outcome.confidence
    return placed


def placement_at(thread: Thread, version: Version, index: int, text: bytes, passage: Passage) -> Placement:
    """A place in a version, in every unit; its state is the caller's."""
    places = places_of(text, passage)
    return Placement(
        thread=thread,
        version=version,
        text_index=index,
        start=passage.start,
        end=passage.end,
        point_start=places.code_points.start,
        point_end=places.code_points.end,
        unit_start=places.utf16.start,
        unit_end=places.utf16.end,
        words=text[passage.start : passage.end],
    )
