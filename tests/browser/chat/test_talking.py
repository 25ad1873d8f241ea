"""Two people talk, each in a browser of their own."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat.conftest import Accounts, Meet
from tests.browser.conftest import Complaints
from tests.browser.talk import ChatPage, Person, bodies, send, start_conversation
from tests.browser.test_every_page import VIEWS, look
from tests.services_plugin import Instance
from tests.waiting import wait_until

#: A page that another one of the same person replaced may come back after this pause.
PAUSE_MS = 2100
FAMILY = "👨‍👩‍👧‍👦"


def test_a_person_is_found_by_address_and_gets_the_first_message(
    ada: Person, ben: Person, conversation: str, word: str
) -> None:
    page = ada.context.new_page()
    page.goto("/chat/")
    page.get_by_role("link", name="New conversation").first.click()
    page.get_by_label("Name or e-mail address of the person").fill(ben.email)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Write to").click()
    page.wait_for_url(f"**/chat/{conversation}/")
    chat = ChatPage(page).wait()
    chat.say(f"Hello {word}")
    expect(chat.mark(word)).to_have_attribute("data-mark", "sent")
    assert bodies(ben, conversation)[-1] == f"Hello {word}"


def test_messages_go_both_ways_live_with_marks_typing_and_presence(hers: ChatPage, his: ChatPage, word: str) -> None:
    hers.say(f"ping {word}")
    expect(his.message(f"ping {word}")).to_be_visible()
    expect(hers.mark(f"ping {word}")).to_have_attribute("data-mark", "read")
    expect(hers.page.locator("[data-peer-state]")).to_have_text("online")
    his.text.press_sequentially("typing something")
    expect(hers.page.locator("[data-peer-state]")).to_have_text("typing…")
    his.say(f"pong {word}")
    expect(hers.message(f"pong {word}")).to_be_visible()
    expect(hers.page.locator("[data-peer-state]")).to_have_text("online")


def test_what_was_sent_to_somebody_absent_is_there_when_they_come_in_its_order(
    hers: ChatPage, ben: Person, conversation: str, word: str
) -> None:
    for number in range(3):
        hers.say(f"{word} {number}")
    expect(hers.mark(f"{word} 2")).to_have_attribute("data-mark", "sent")
    elsewhere = ben.context.new_page()
    elsewhere.goto("/account/")
    expect(elsewhere.locator("[data-unread]")).to_contain_text(re.compile("[0-9]"))
    assert elsewhere.title().startswith("(")
    chat = ChatPage(elsewhere).open(conversation)
    shown = chat.message(word)
    expect(shown).to_have_count(3)
    assert [f"{word} {number}" in text for number, text in enumerate(shown.all_inner_texts())] == [True] * 3
    expect(hers.mark(f"{word} 2")).to_have_attribute("data-mark", "read")
    expect(elsewhere.locator("[data-unread]")).to_be_hidden()


def test_the_enter_of_an_input_method_sends_nothing(hers: ChatPage, ada: Person, conversation: str, word: str) -> None:
    hers.text.focus()
    typing = ada.context.new_cdp_session(hers.page)
    typing.send("Input.imeSetComposition", {"text": "にほん", "selectionStart": 3, "selectionEnd": 3})
    hers.page.keyboard.press("Enter")
    typing.send("Input.insertText", {"text": f"日本 {word}"})
    for keys in ({"isComposing": True}, {"keyCode": 229}):
        hers.text.evaluate(
            "(area, keys) => area.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, ...keys}))",
            keys,
        )
    hers.text.evaluate(
        """(area) => {
            area.dispatchEvent(new CompositionEvent('compositionend', {bubbles: true}));
            area.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: 13, bubbles: true}));
        }"""
    )
    expect(hers.text).to_have_value(re.compile(word))
    assert word not in "".join(bodies(ada, conversation))
    hers.page.wait_for_timeout(200)
    hers.text.press("Enter")
    expect(hers.message(word)).to_have_count(1)
    expect(hers.text).to_have_value("")


def test_emoji_and_right_to_left_text_arrive_whole_and_isolated(hers: ChatPage, his: ChatPage, word: str) -> None:
    text = f"{FAMILY} שלום {word}!\nsecond line in Latin"
    hers.text.fill(text)
    hers.text.press("Enter")
    arrived = his.message(word)
    expect(arrived.locator("p").first).to_have_text(text, use_inner_text=True)
    style = arrived.locator(".bubble p").evaluate(
        "(p) => [p.dir, getComputedStyle(p).direction, getComputedStyle(p).unicodeBidi]"
    )
    assert style == ["auto", "rtl", "plaintext"]
    hers.say(FAMILY)
    expect(his.messages.last.locator(".bubble")).to_have_class(re.compile("is-big"))
    expect(his.page.locator("[data-row-last]").first).to_have_text(FAMILY)


def test_four_thousand_lines_are_shown_as_a_beginning(hers: ChatPage, his: ChatPage, word: str) -> None:
    hers.text.evaluate(
        """(area, text) => {
            area.focus();
            document.execCommand('insertText', false, text);
        }""",
        f"{word}{chr(10) * 3980}end",
    )
    hers.text.press("Enter")
    arrived = his.message(word)
    button = arrived.get_by_role("button", name="Show all 3,981 lines")
    expect(button).to_be_visible()
    assert arrived.locator(".bubble").evaluate("(bubble) => bubble.textContent.length") < 100
    button.click()
    expect(arrived.locator(".bubble p")).to_have_text(re.compile(f"^{word}\n+end$"), use_inner_text=True)
    arrived.get_by_role("button", name="Show less").click()
    expect(button).to_be_visible()


def test_a_text_that_is_too_long_stays_in_the_field_and_says_why(
    hers: ChatPage, ada: Person, conversation: str, word: str
) -> None:
    hers.text.fill(word + "x" * 4000)
    hers.text.press("Enter")
    expect(hers.page.locator("[data-composer-note]")).to_contain_text("at most 4,000")
    expect(hers.text).to_have_value(re.compile(word))
    assert word not in "".join(bodies(ada, conversation))
    hers.text.fill("")


def test_days_are_those_of_the_viewer_across_the_change_to_summer_time(
    meet: Meet, accounts: Accounts, live_stack: Instance
) -> None:
    viewer = meet(accounts[0], timezone_id="Europe/Berlin", locale="en-GB")
    conversation = start_conversation(viewer, meet(accounts[1]))
    moments = ["2026-03-28T22:59:00Z", "2026-03-28T23:00:00Z", "2026-03-29T21:59:00Z", "2026-03-29T22:00:00Z"]
    sent = [send(viewer, conversation, f"at {moment}") for moment in moments]
    with psycopg.connect(live_stack.environment["DATABASE_URL"]) as database:
        for message, moment in zip(sent, moments, strict=True):
            database.execute("UPDATE chat_message SET created_at = %s WHERE id = %s", (moment, message["id"]))
    page = ChatPage(viewer.context.new_page()).open(conversation).page
    rows = page.locator("[data-thread] > li").evaluate_all(
        "(rows) => rows.map((row) => row.dataset.day ?? row.querySelector('.bubble')?.innerText)"
    )
    first = rows.index(f"at {moments[0]}")
    assert rows[first - 1 : first + 6] == [
        "2026-03-28",
        f"at {moments[0]}",
        "2026-03-29",
        f"at {moments[1]}",
        f"at {moments[2]}",
        "2026-03-30",
        f"at {moments[3]}",
    ]
    expect(page.locator("[data-day='2026-03-29']").first).to_have_text(re.compile("29"))


def test_a_second_tab_takes_over_and_the_first_says_so_and_can_take_it_back(
    hers: ChatPage, his: ChatPage, meet: Meet, accounts: Accounts, conversation: str, word: str
) -> None:
    hers.text.fill(f"unsent {word}")
    hers.page.wait_for_timeout(PAUSE_MS)
    second = ChatPage(meet(accounts[0]).context.new_page()).open(conversation)
    expect(hers.state).to_contain_text("open elsewhere")
    expect(hers.text).to_be_disabled()
    his.say(f"to the second {word}")
    expect(second.message(f"to the second {word}")).to_be_visible()
    expect(hers.message(f"to the second {word}")).to_have_count(0)
    hers.page.wait_for_timeout(PAUSE_MS)
    hers.page.get_by_role("button", name="Use it here").click()
    hers.wait()
    expect(second.state).to_contain_text("open elsewhere")
    expect(hers.text).to_have_value(f"unsent {word}")
    expect(hers.message(f"to the second {word}")).to_be_visible()
    hers.text.fill("")


def test_signing_out_in_another_tab_ends_the_socket_and_keeps_what_was_written(
    cleo: Person, ben: Person, word: str
) -> None:
    conversation = start_conversation(cleo, ben)
    chat = ChatPage(cleo.context.new_page()).open(conversation)
    chat.text.fill(f"unsent {word}")
    other = cleo.context.new_page()
    other.goto("/accounts/logout/")
    other.get_by_role("button", name="Sign out").click()
    expect(chat.state).to_contain_text("You are signed out")
    expect(chat.text).to_be_disabled()
    expect(chat.text).to_have_value(f"unsent {word}")


def test_two_tabs_do_not_fight(hers: ChatPage, meet: Meet, accounts: Accounts, conversation: str) -> None:
    hers.page.wait_for_timeout(PAUSE_MS)
    opened: list[str] = []
    hers.page.on("websocket", lambda socket: opened.append(socket.url))
    ChatPage(meet(accounts[0]).context.new_page()).open(conversation)
    expect(hers.state).to_contain_text("open elsewhere")
    hers.page.wait_for_timeout(4000)
    assert opened == []


def test_what_is_written_offline_waits_and_goes_out_in_order_and_what_came_is_caught_up(
    hers: ChatPage, his: ChatPage, ada: Person, ben: Person, conversation: str, word: str, complaints: Complaints
) -> None:
    complaints.expect("ERR_INTERNET_DISCONNECTED")
    ada.context.set_offline(True)
    expect(hers.state).to_contain_text("Offline")
    hers.say(f"{word} first")
    hers.say(f"{word} second")
    expect(hers.page.locator("[data-waiting]", has_text=word)).to_have_count(2)
    expect(hers.page.locator("[data-waiting] [data-mark='sending']").first).to_be_visible()
    his.say(f"{word} meanwhile")
    expect(his.mark(f"{word} meanwhile")).to_have_attribute("data-mark", "sent")
    ada.context.set_offline(False)
    expect(his.message(f"{word} second")).to_be_visible()
    expect(hers.message(f"{word} meanwhile")).to_be_visible()
    expect(hers.page.locator("[data-waiting]")).to_have_count(0)
    expect(hers.state).to_be_empty()
    mine = [body for body in bodies(ben, conversation) if word in body]
    assert mine == [f"{word} meanwhile", f"{word} first", f"{word} second"]
    expect(hers.message(word)).to_have_count(3)


#: Whether this browser's database holds a message with the word: from then on a reload loses nothing.
IS_KEPT = """async (word) => {
    const done = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
    for (const { name } of await indexedDB.databases()) {
        if (!name.startsWith("chat-")) continue;
        const database = await done(indexedDB.open(name));
        const rows = await done(database.transaction("outbox").objectStore("outbox").getAll());
        database.close();
        if (rows.some(({ body }) => body.includes(word))) return true;
    }
    return false;
}"""


def test_what_waits_survives_a_reload(
    hers: ChatPage, ada: Person, conversation: str, word: str, complaints: Complaints
) -> None:
    complaints.expect("ERR_INTERNET_DISCONNECTED")
    ada.context.set_offline(True)
    expect(hers.state).to_contain_text("Offline")
    hers.say(f"kept {word}")
    expect(hers.page.locator("[data-waiting]", has_text=word)).to_be_visible()
    wait_until(lambda: hers.page.evaluate(IS_KEPT, word))
    ada.context.set_offline(False)
    hers.page.reload()
    hers.wait()
    expect(hers.message(word)).to_have_count(1)
    assert bodies(ada, conversation).count(f"kept {word}") == 1


def test_a_double_click_sends_once(hers: ChatPage, ada: Person, conversation: str, word: str) -> None:
    hers.text.fill(word)
    hers.page.get_by_role("button", name="Send").dblclick()
    expect(hers.message(word)).to_have_count(1)
    expect(hers.mark(word)).to_have_attribute("data-mark", re.compile("sent|delivered|read"))
    hers.page.wait_for_timeout(300)
    assert bodies(ada, conversation).count(word) == 1


def test_an_edit_and_a_deletion_reach_the_other_one(hers: ChatPage, his: ChatPage, word: str) -> None:
    hers.say(f"helo {word}")
    expect(his.message(f"helo {word}")).to_be_visible()
    hers.text.press("ArrowUp")
    expect(hers.text).to_have_value(f"helo {word}")
    hers.text.fill(f"hello {word}")
    hers.text.press("Enter")
    expect(his.message(f"hello {word}")).to_contain_text("edited")
    expect(hers.message(f"hello {word}")).to_contain_text("edited")
    hers.act(f"hello {word}", "Delete")
    hers.page.locator("#delete-message").get_by_role("button", name="Delete").click()
    expect(his.message(word)).to_have_count(0)
    expect(his.messages.last).to_contain_text("Message deleted")
    expect(hers.messages.last).to_contain_text("Message deleted")


def test_a_refused_message_says_why_and_can_be_sent_again(
    hers: ChatPage, ada: Person, ben: Person, conversation: str, word: str
) -> None:
    ben.api.put(f"chat/blocks/{ada.id}").raise_for_status()
    try:
        hers.say(word)
        failed = hers.page.locator("[data-waiting]", has_text=word)
        expect(failed).to_contain_text("cannot be messaged")
        hers.page.reload()
        expect(failed).to_contain_text("cannot be messaged")
    finally:
        ben.api.delete(f"chat/blocks/{ada.id}").raise_for_status()
    hers.wait()
    failed.get_by_role("button", name="Try again").click()
    expect(hers.message(word)).to_have_count(1)
    assert bodies(ada, conversation).count(word) == 1


def test_a_draft_is_kept_for_its_conversation(hers: ChatPage, conversation: str, word: str) -> None:
    hers.text.fill(f"half a thought {word}")
    hers.page.goto("/runs/")
    hers.open(conversation)
    expect(hers.text).to_have_value(f"half a thought {word}")
    hers.text.fill("")


def test_nothing_in_a_message_becomes_markup_or_runs(hers: ChatPage, his: ChatPage, word: str) -> None:
    hers.say(f"{word} <img src=x onerror=alert(1)> [x](javascript:alert(1)) [ok](https://example.com/a) `<b>`")
    arrived = his.message(word)
    expect(arrived).to_contain_text("<img src=x onerror=alert(1)> [x](javascript:alert(1))")
    links = arrived.locator("a").evaluate_all("(links) => links.map((link) => [link.href, link.rel])")
    assert links == [["https://example.com/a", "noopener noreferrer nofollow ugc"]]
    assert arrived.locator("img, b").count() == 0


def test_older_messages_are_read_when_somebody_scrolls_up_and_the_place_is_kept(
    ada: Person, ben: Person, conversation: str, live_stack: Instance
) -> None:
    with psycopg.connect(live_stack.environment["DATABASE_URL"]) as database:
        row = database.execute("SELECT last_seq FROM chat_conversation WHERE id = %s", (conversation,)).fetchone()
        assert row is not None
        for number in range(1, 121):
            database.execute(
                "INSERT INTO chat_message (id, conversation_id, seq, sender_id, client_msg_id, body, version)"
                " VALUES (gen_random_uuid(), %s, %s, %s, gen_random_uuid(), %s, 1)",
                (conversation, row[0] + number, ben.id, f"row {number} of many"),
            )
        database.execute("UPDATE chat_conversation SET last_seq = %s WHERE id = %s", (row[0] + 120, conversation))
    chat = ChatPage(ada.context.new_page()).open(conversation)
    expect(chat.message("row 120 of many")).to_be_in_viewport()
    assert chat.page.evaluate("document.documentElement.scrollHeight === innerHeight"), "only the thread scrolls"
    scroller = chat.page.locator("[data-scroll]")

    def is_at_the_beginning() -> bool:
        scroller.evaluate("(box) => box.scrollTo(0, 0)")
        chat.page.wait_for_timeout(300)
        return chat.message("row 1 of many").count() == 1

    wait_until(is_at_the_beginning)
    expect(chat.message("of many")).to_have_count(120)


def test_what_is_new_is_marked_until_it_is_answered(
    ada: Person, ben: Person, conversation: str, hers: ChatPage, word: str
) -> None:
    hers.say(f"before {word}")
    expect(hers.mark(f"before {word}")).to_have_attribute("data-mark", re.compile("sent|delivered|read"))
    hers.page.goto("/runs/")
    send(ben, conversation, f"new {word}")
    hers.open(conversation)
    line = hers.page.locator(".thread-new")
    expect(line).to_have_count(1)
    assert word in line.evaluate("(line) => line.nextElementSibling.innerText")
    hers.say(f"answer {word}")
    expect(hers.message(f"answer {word}")).to_be_visible()
    expect(line).to_have_count(0)


def test_a_message_for_another_page_is_counted_in_the_list_and_in_the_title(
    ada: Person, ben: Person, conversation: str, word: str
) -> None:
    page = ada.context.new_page()
    page.goto("/chat/")
    ChatPage(page).wait()
    row = page.locator(f"[data-conversation='{conversation}']")
    before = int(row.locator("[data-count]").inner_text() or 0)
    send(ben, conversation, f"counted {word}")
    expect(row.locator("[data-row-last]")).to_have_text(f"counted {word}")
    expect(row.locator("[data-count]")).to_have_text(str(before + 1))
    expect(page).to_have_title(re.compile(r"^\(\d+\+?\) Chat"))


def test_reading_and_writing_work_without_scripts(
    meet: Meet, accounts: Accounts, his: ChatPage, conversation: str, word: str
) -> None:
    page: Page = meet(accounts[0], java_script_enabled=False).context.new_page()
    page.goto(f"/chat/{conversation}/")
    page.locator("[data-composer-text]").fill(f"by hand {word}")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("[data-thread]")).to_contain_text(f"by hand {word}")
    expect(his.message(f"by hand {word}")).to_be_visible()
    his.say(f"answer {word}")
    expect(his.mark(f"answer {word}")).to_have_attribute("data-mark", re.compile("sent|delivered|read"))
    page.get_by_role("link", name="Look for new messages").click()
    expect(page.locator("[data-thread]")).to_contain_text(f"answer {word}")


@pytest.mark.parametrize("view", ["light", "dark", "phone"])
def test_a_conversation_full_of_difficult_text(
    meet: Meet, accounts: Accounts, ben: Person, conversation: str, view: str
) -> None:
    for body in (
        "x" * 3000,
        "e" + "\u0301" * 3000,
        "```\n" + "long line " * 80 + "\n```",
        f"שלום {FAMILY}",
        "- a\n- b",
    ):
        send(ben, conversation, body)
    chat = ChatPage(meet(accounts[0], **VIEWS[view]).context.new_page()).open(conversation)
    look(chat.page, f"conversation-{view}")
    chat.page.goto("/chat/")
    look(chat.page, f"conversations-{view}")
