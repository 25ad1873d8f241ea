"""A passage is found again by its exact words and neighbours, or only suggested, or outdated: never silently wrong."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.anchors import Change, Outcome
from review.passages import Passage
from tests.review.rewriting import Rewriter, Sentence, joined, spans

TEXTS, EACH, SENTENCES = 120, 10, 60


def place(text: str, words: str, nth: int = 0) -> Passage:
    whole, wanted = text.encode(), words.encode()
    at = -1
    for _ in range(nth + 1):
        at = whole.index(wanted, at + 1)
    return Passage(start=at, end=at + len(wanted))


def carry(old: str, words: str, new: str, *, nth: int = 0) -> tuple[str, str | None]:
    """The state, and the words at the new place."""
    outcome = Change(old.encode(), new.encode()).carry(place(old, words, nth))
    where = outcome.passage
    return outcome.state, None if where is None else new.encode()[where.start : where.end].decode()


def whose(new: list[Sentence], outcome: Outcome) -> Sentence | None:
    """The sentence that what was carried stands in."""
    where = outcome.passage
    assert where is not None
    inside = (s for s, (start, end) in zip(new, spans(new), strict=True) if start <= where.start and where.end <= end)
    return next(inside, None)


def judged(new: list[Sentence], target: Sentence, outcome: Outcome) -> str:
    """`wrong`: on a sentence that is neither the one commented on nor made as a verbatim copy of it."""
    if outcome.state != "carried":
        return "kept back"
    found = whose(new, outcome)
    if found is None:
        return "wrong"
    is_copy = found.copy_of == target.identity and found.text == target.text
    return "right" if found.identity == target.identity else "copy" if is_copy else "wrong"


@pytest.mark.parametrize(("edits", "least"), [(5, 0.97), (20, 0.9), (60, 0.72)])
def test_of_1200_anchors_none_is_silently_wrong(edits: int, least: float) -> None:
    """In texts of 60 sentences that look alike. `least`: carried, of those whose words still stand somewhere."""
    seen: Counter[str] = Counter()
    for seed in range(TEXTS):
        rewriter = Rewriter(random.Random(1000 * seed + edits))
        old = rewriter.text(SENTENCES)
        new = rewriter.rewrite(old, edits)
        change, places = Change(joined(old), joined(new)), spans(old)
        kept = {(each.identity, each.text) for each in new}
        for at in rewriter.random.sample(range(SENTENCES), EACH):
            start, end = places[at]
            seen[judged(new, old[at], change.carry(Passage(start=start, end=end)))] += 1
            seen["there"] += (old[at].identity, old[at].text) in kept
    assert seen["right"] + seen["copy"] + seen["kept back"] + seen["wrong"] == 1200
    assert seen["wrong"] == 0
    assert seen["right"] / seen["there"] >= least


@pytest.mark.parametrize("gap", ["\n", "\r\n\r\n", " ", ""])
def test_nor_is_one_of_400_where_sentences_are_divided_by_other_things(gap: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        rewriter = Rewriter(random.Random(seed))
        old = rewriter.text(30)
        new = rewriter.rewrite(old, 12)
        change, places = Change(joined(old, gap), joined(new, gap)), spans(old, gap)
        for at in rewriter.random.sample(range(30), 10):
            outcome = change.carry(Passage(start=places[at][0], end=places[at][1]))
            if outcome.state == "carried" and outcome.passage is not None:
                where = outcome.passage
                words = joined(new, gap)[where.start : where.end]
                assert words == old[at].text.encode()
                ends = zip(new, spans(new, gap), strict=True)
                inside = [s for s, (start, end) in ends if start <= where.start and where.end <= end]
                copies = [s for s in inside if s.identity == old[at].identity or s.copy_of == old[at].identity]
                seen["right" if copies else "wrong"] += 1
    assert seen["wrong"] == 0
    assert seen["right"] > 200


@pytest.mark.parametrize("seed", range(60))
def test_a_copy_elsewhere_is_not_taken_for_a_passage_that_was_edited(seed: int) -> None:
    rewriter = Rewriter(random.Random(seed))
    old = rewriter.text(40)
    at = rewriter.random.randrange(40)
    new = list(old)
    new[at] = replace(old[at], text=old[at].text.replace("the", "that", 1))
    new.insert((at + 20) % 40, Sentence(identity=9999, text=old[at].text))
    start, end = spans(old)[at]
    assert Change(joined(old), joined(new)).carry(Passage(start=start, end=end)).state == "suggested"


@pytest.mark.parametrize("seed", range(60))
def test_another_sentence_that_came_to_read_like_a_deleted_one_is_not_taken_for_it(seed: int) -> None:
    rewriter = Rewriter(random.Random(seed))
    old = rewriter.text(40)
    at = rewriter.random.randrange(40)
    new = list(old)
    other = (at + 20) % 40
    new[other] = replace(old[other], text=old[at].text)
    new.pop(at)
    start, end = spans(old)[at]
    assert Change(joined(old), joined(new)).carry(Passage(start=start, end=end)).state == "suggested"


def test_a_passage_of_an_unchanged_text_stays_where_it_is() -> None:
    assert carry("Be brief. Be kind.", "Be kind.", "Be brief. Be kind.") == ("carried", "Be kind.")


def test_it_is_carried_when_something_is_written_before_and_behind_it() -> None:
    old = "Answer in French. Quote the invoice number. Never guess a total."
    new = f"You work for a shop. {old} Sign with your name."
    assert carry(old, "Quote the invoice number.", new) == ("carried", "Quote the invoice number.")


def test_it_is_carried_when_it_moves_as_a_whole() -> None:
    first, second, third = "Quote the invoice number, always.", "Answer in French, or ask.", "Never guess a total."
    old = f"{first}\n{second}\n{third}\nSay goodbye politely.\n"
    new = f"{second}\n{third}\n{first}\nSay goodbye politely.\n"
    assert carry(old, first, new) == ("carried", first)


def test_an_edited_passage_is_only_suggested() -> None:
    old = "Answer in French. Quote the invoice number in each answer. Never guess a total."
    new = "Answer in French. Quote the order number in each answer. Never guess a total."
    words = "Quote the invoice number in each answer."
    assert carry(old, words, new) == ("suggested", "Quote the order number in each answer.")


def test_a_deleted_passage_is_outdated() -> None:
    old = "Answer in French. Quote the invoice number in each answer. Never guess a total."
    assert carry(old, "Quote the invoice number in each answer.", "Answer in French. Never guess a total.") == (
        "outdated",
        None,
    )


def test_of_two_equal_lines_the_one_with_the_same_neighbours_is_meant() -> None:
    old = (
        "For letters, which are long and formal:\nBe brief.\nFor chats, which are short and informal:\nBe brief.\nEnd."
    )
    new = f"Read this first, all of it.\n{old}\nAnd this is the last line of it."
    change = Change(old.encode(), new.encode())
    for nth in (0, 1):
        outcome = change.carry(place(old, "Be brief.", nth))
        assert outcome.state == "carried"
        assert outcome.passage == place(new, "Be brief.", nth)


def test_when_one_of_two_equal_lines_is_gone_and_the_rest_was_rewritten_nobody_guesses_which() -> None:
    old = "Letters:\nBe brief.\nChats:\nBe brief.\nEnd."
    new = "Mail:\nBe brief.\nTelephone calls:\nBe polite."
    assert carry(old, "Be brief.", new, nth=1)[0] == "suggested"


def test_a_short_word_is_not_followed_to_another_sentence() -> None:
    old = "Give the answer in French to everybody."
    new = "Nobody speaks French here: say nothing at all."
    assert carry(old, "French", new)[0] != "carried"


def test_the_beginning_of_a_longer_sentence_is_not_the_deleted_short_one() -> None:
    old = "Check the total. Check the total. Twice. Then say so to the customer."
    new = "Check the total. Twice. Then say so to the customer."
    state, _ = carry(old, "Check the total.", new)
    assert state != "carried"


def test_the_end_and_the_beginning_of_a_text_are_neighbours_too() -> None:
    old = "Hello {{name}}"
    assert carry(old, "Hello", "Hello {{name}}!!")[0] != "outdated"
    assert carry(old, "{{name}}", "Goodbye")[0] == "outdated"


@pytest.mark.parametrize(
    ("words", "line_end"),
    [
        ("Keep 👩‍👩‍👧 and 🙂 as they are", "\n"),
        ("Übersetze n̄ und é genau", "\r\n"),
        ("ענה בעברית בלבד", "\n"),
        ("他说：不要猜", "\r\n"),
    ],
)
def test_emoji_marks_line_ends_and_directions_change_nothing(words: str, line_end: str) -> None:
    lines = ["You answer customers of a shop.", words, "Never guess a total, whatever they say."]
    old = line_end.join(lines)
    new = line_end.join(["A new first line 🙂.", *lines, "A new last line n̄."])
    assert carry(old, words, new) == ("carried", words)


def test_words_in_another_normal_form_are_other_words() -> None:
    old = "Answer politely.\nSay caf\u00e9 and nothing else to the guests.\nThen stop."
    new = old.replace("\u00e9", "e\u0301")
    words = "Say caf\u00e9 and nothing else to the guests."
    assert carry(old, words, new) == ("suggested", words.replace("\u00e9", "e\u0301"))


def test_a_passage_is_not_cut_out_of_a_letter() -> None:
    old = "The one word that counts here, for all of us, is resume and nothing else.\nThen go on with the next thing."
    new = "Start.\n" + old.replace("resume", "resume\u0301")
    words = "The one word that counts here, for all of us, is resume"
    assert carry(old, words, new)[0] != "carried"


def test_line_ends_that_changed_everywhere_do_not_move_a_passage_within_one_line() -> None:
    old = "Answer in French.\nQuote the invoice number in each of your answers.\nNever guess a total.\n"
    new = old.replace("\n", "\r\n")
    words = "Quote the invoice number in each of your answers."
    state, found = carry(old, words, new)
    assert (state, found) in {("carried", words), ("suggested", words)}


def test_a_text_that_says_one_thing_ten_thousand_times_is_not_searched_for_ever() -> None:
    old = "Be brief. " * 10_000
    new = "Be kind. " + "Be brief. " * 9_999
    outcome = Change(old.encode(), new.encode()).carry(Passage(start=50_000, end=50_009))
    assert outcome.passage is None or new.encode()[outcome.passage.start : outcome.passage.end] == b"Be brief."


def test_in_20_megabytes_a_passage_is_found_in_its_place() -> None:
    line = "Row {}: the customer asked for a refund and was told to wait.\n"
    text = "".join(map(line.format, range(330_000)))
    old = text.encode()
    assert len(old) > 20_000_000
    changed = text.replace("Row 1000:", "Row one thousand:", 1).replace("Row 300000:", "Row 300,000:", 1).encode()
    change = Change(old, changed)
    for row in (10, 999, 1001, 150_000, 300_001, 329_999):
        words = line.format(row).encode()
        at = old.index(words)
        outcome = change.carry(Passage(start=at, end=at + len(words)))
        assert outcome.state == "carried"
        assert outcome.passage is not None
        assert changed[outcome.passage.start : outcome.passage.end] == words


WORDS = st.sampled_from(["ab", "a", "b", " ", "\n", "\r\n", "🙂", "e\u0301", "שלום", "ab ab", "\u200d", "."])
PIECES = st.lists(WORDS, max_size=60).map("".join)


@settings(max_examples=300, deadline=None)
@given(PIECES, PIECES, st.data())
def test_what_is_carried_reads_the_same_and_never_cuts_a_character(old: str, new: str, data: st.DataObject) -> None:
    if not old:
        return
    first = data.draw(st.integers(0, len(old) - 1))
    last = data.draw(st.integers(first + 1, len(old)))
    passage = Passage(start=len(old[:first].encode()), end=len(old[:last].encode()))
    outcome = Change(old.encode(), new.encode()).carry(passage)
    assert (outcome.passage is None) == (outcome.state == "outdated")
    if outcome.passage is None:
        return
    assert 0 <= outcome.passage.start < outcome.passage.end <= len(new.encode())
    words = new.encode()[outcome.passage.start : outcome.passage.end].decode()
    if outcome.state == "carried":
        assert words == old[first:last]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=40), min_size=3, max_size=12, unique=True), st.data())
def test_in_a_text_that_did_not_change_everything_stays(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines).encode("utf-8", "replace")
    at = data.draw(st.integers(0, len(lines) - 1))
    start = len("\n".join(lines[:at]).encode("utf-8", "replace")) + (1 if at else 0)
    passage = Passage(start=start, end=start + len(lines[at].encode("utf-8", "replace")))
    outcome = Change(text, text).carry(passage)
    assert (outcome.state, outcome.passage) == ("carried", passage)
