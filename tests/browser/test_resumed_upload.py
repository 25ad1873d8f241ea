"""A large file on a bad network: what has arrived is not sent again, the bar goes on from where it was."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import boto3
import httpx2
import psycopg
import pytest
from botocore.config import Config
from celery import Celery
from playwright.sync_api import Browser, CDPSession, Locator, Page, Request, Route, StorageState, expect

from tests.browser.conftest import ARGUMENTS, Complaints, find_chromium
from tests.browser.large_texts import MB, many_lines, read_text
from tests.browser.workbench import Workbench
from tests.services_plugin import Instance
from tests.waiting import wait_until

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

MEBIBYTE = 1024 * 1024
PART_BYTES = 8 * MEBIBYTE
SLOW = {"offline": False, "latency": 5, "downloadThroughput": -1, "uploadThroughput": 4 * MEBIBYTE}
LOADED_MS = 60_000
DATA = many_lines(24 * MB)


class Sent:
    """PUTs of a page to the store: the number of the part of each that began, and of each that was answered well."""

    def __init__(self, page: Page) -> None:
        self.began: list[int] = []
        self.arrived: list[int] = []
        page.on("request", lambda request: self._note(request, self.began))
        page.on("response", lambda answer: self._note(answer.request, self.arrived) if answer.ok else None)

    @staticmethod
    def _note(request: Request, where: list[int]) -> None:
        if request.method == "PUT" and "/staging/" in request.url:
            where.append(int(parse_qs(urlsplit(request.url).query).get("partNumber", ["0"])[0]))

    @property
    def bytes_at_most(self) -> int:
        """If each that began had been sent to its end."""
        return sum(min(PART_BYTES, len(DATA) - (number - 1) * PART_BYTES) for number in self.began)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.md"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def slow(page: Page) -> CDPSession:
    """The page's network, slowed down so that something happens in the middle of a part."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW)
    return session


def attach(page: Page, file: Path) -> Locator:
    """Attach a file as the system text; the card that says how far it is."""
    with page.expect_file_chooser() as chooser:
        Workbench(page).system.click()
        page.get_by_role("button", name="Attach file").first.click()
    chooser.value.set_files(file)
    return page.locator(".file-card")


def wait_for(page: Page, card: Locator, share: float) -> None:
    """Until the bar shows that so much is sent."""
    page.wait_for_function(
        """share => {
          const card = document.querySelector(".file-card");
          const bar = card?.querySelector("progress");
          return bar && bar.value >= share && card.textContent.includes("Sending");
        }""",
        arg=share,
        timeout=LOADED_MS,
    )
    expect(card).to_contain_text("Sending")


def test_a_cut_in_the_middle_costs_less_than_a_part(
    page: Page,
    api: httpx2.Client,
    make_prompt: Callable[..., str],
    file: Path,
    slow: CDPSession,
    complaints: Complaints,
    record_testsuite_property: Callable[[str, Any], None],
) -> None:
    complaints.expect("ERR_INTERNET_DISCONNECTED|ERR_FAILED|ERR_NETWORK_CHANGED")
    bench = Workbench(page).open(make_prompt("before"))
    sent = Sent(page)
    card = attach(page, file)
    wait_for(page, card, 0.5)
    slow.send("Network.emulateNetworkConditions", {**SLOW, "offline": True})
    expect(card).to_contain_text(re.compile(r"Cut off with (34|35|69|70) % sent; waiting to go on"))
    there = len(set(sent.arrived))
    assert there >= 1
    assert page.locator(".file-card progress").evaluate("bar => bar.value") == pytest.approx(there / 3, abs=0.05)
    slow.send("Network.emulateNetworkConditions", SLOW)
    wait_for(page, card, there / 3)
    expect(card).to_contain_text(re.compile(r"24 MB · \d"), timeout=LOADED_MS)
    again = sent.bytes_at_most - len(DATA)
    record_testsuite_property("bytes_sent_again_at_most", again)
    assert sorted(sent.arrived) == [1, 2, 3]
    assert again <= PART_BYTES
    bench.save()
    expect(bench.version).to_have_text("v2")
    assert read_text(api, bench.prompt_id, 2) == DATA


def test_a_reload_with_the_same_file_goes_on_where_it_was(
    page: Page, api: httpx2.Client, make_prompt: Callable[..., str], file: Path, slow: CDPSession
) -> None:
    bench = Workbench(page).open(make_prompt("before"))
    sent = Sent(page)
    card = attach(page, file)
    wait_for(page, card, 0.4)
    before = len(set(sent.arrived))
    assert before >= 1
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    bench.wait()
    card = attach(page, file)
    wait_for(page, card, before / 3)
    expect(card).to_contain_text(re.compile(r"24 MB · \d"), timeout=LOADED_MS)
    assert sorted(sent.arrived) == [1, 2, 3]
    assert sent.bytes_at_most - len(DATA) <= PART_BYTES
    bench.save()
    expect(bench.version).to_have_text("v2")
    assert read_text(api, bench.prompt_id, 2) == DATA


def s3(live_stack: Instance) -> S3Client:
    known = live_stack.environment
    return boto3.client(
        "s3",
        endpoint_url=known["S3_ENDPOINT_URL"],
        aws_access_key_id=known["S3_ACCESS_KEY_ID"],
        aws_secret_access_key=known["S3_SECRET_ACCESS_KEY"],
        region_name=known["S3_REGION"],
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )


def short_lived(live_stack: Instance, part: dict[str, Any]) -> dict[str, Any]:
    """The same part with an address that the store takes for a second."""
    where = urlsplit(part["url"])
    bucket, key = where.path.removeprefix("/").split("/", 1)
    asked = {
        "Bucket": bucket,
        "Key": key,
        "UploadId": parse_qs(where.query)["uploadId"][0],
        "PartNumber": part["number"],
        "ContentLength": part["size"],
        "ChecksumSHA256": part["headers"]["x-amz-checksum-sha256"],
    }
    return {**part, "url": s3(live_stack).generate_presigned_url("upload_part", Params=asked, ExpiresIn=1)}


def test_an_address_that_really_expired_is_replaced(
    page: Page,
    api: httpx2.Client,
    live_stack: Instance,
    make_prompt: Callable[..., str],
    file: Path,
    complaints: Complaints,
) -> None:
    complaints.expect("status of 403")
    refused: list[int] = []

    def announce(route: Route) -> None:
        answer = route.fetch()
        started = answer.json()
        started["parts"][1:] = [short_lived(live_stack, part) for part in started["parts"][1:]]
        time.sleep(2.1)
        route.fulfill(response=answer, json=started)

    bench = Workbench(page).open(make_prompt("before"))
    sent = Sent(page)
    page.on("response", lambda answer: refused.append(answer.status) if "/staging/" in answer.url else None)
    page.route(re.compile(r"/prompts/[^/]+/uploads$"), announce)
    card = attach(page, file)
    expect(card).to_contain_text(re.compile(r"24 MB · \d"), timeout=LOADED_MS)
    assert (sent.began, sent.arrived) == ([1, 2, 2, 3], [1, 2, 3])
    assert refused.count(403) == 1
    bench.save()
    expect(bench.version).to_have_text("v2")
    assert hashlib.sha256(read_text(api, bench.prompt_id, 2)).digest() == hashlib.sha256(DATA).digest()


def test_a_part_that_is_refused_twice_by_the_network_waits_and_goes_on(
    page: Page, make_prompt: Callable[..., str], file: Path, complaints: Complaints
) -> None:
    complaints.expect("ERR_CONNECTION_RESET|ERR_FAILED")
    cuts: list[str] = []

    def cut(route: Route) -> None:
        if "partNumber=2" in route.request.url and len(cuts) < 2:
            cuts.append(route.request.url)
            route.abort("connectionreset")
        else:
            route.continue_()

    Workbench(page).open(make_prompt("before"))
    sent = Sent(page)
    page.route(re.compile(r"/staging/"), cut)
    card = attach(page, file)
    expect(card).to_contain_text("Cut off with 34 % sent; waiting to go on", timeout=LOADED_MS)
    expect(card).to_contain_text(re.compile(r"24 MB · \d"), timeout=LOADED_MS)
    assert (sent.began, sent.arrived) == ([1, 2, 2, 2, 3], [1, 2, 3])


def test_a_cancelled_file_leaves_the_text_and_nothing_on_the_server_and_can_be_sent_again(
    page: Page, make_prompt: Callable[..., str], file: Path, slow: CDPSession, live_stack: Instance
) -> None:
    bench = Workbench(page).open(make_prompt("before", system="as it was"))
    sent = Sent(page)
    with page.expect_response(lambda answer: answer.url.endswith("/uploads")) as announced:
        card = attach(page, file)
    upload = announced.value.json()["id"]
    wait_for(page, card, 0.4)
    assert len(unfinished(live_stack, bench.prompt_id)) == 1
    with page.expect_response(lambda answer: answer.request.method == "DELETE") as ended:
        card.get_by_role("button", name="Cancel").click()
    assert (ended.value.status, ended.value.url.rpartition("/")[2]) == (204, upload)
    expect(bench.system).to_have_text("as it was")
    state = page.request.get(f"/api/v1/uploads/{upload}").json()
    assert (state["status"], state["error"]["code"]) == ("failed", "cancelled")
    assert unfinished(live_stack, bench.prompt_id) == []
    slow.send("Network.emulateNetworkConditions", {**SLOW, "uploadThroughput": -1})
    card = attach(page, file)
    expect(card).to_contain_text(re.compile(r"24 MB · \d"), timeout=LOADED_MS)
    assert sent.arrived[-3:] == [1, 2, 3]


def unfinished(live_stack: Instance, prompt: str) -> list[str]:
    """Names of what the store still awaits in parts for a prompt."""
    known = live_stack.environment
    answer = s3(live_stack).list_multipart_uploads(Bucket=known["S3_BUCKET"], Prefix=f"staging/{prompt}/")
    return [each["UploadId"] for each in answer.get("Uploads", [])]


def test_a_browser_closed_in_the_middle_leaves_an_upload_that_expires_with_its_parts(
    chromium: Browser,
    live_stack: Instance,
    session: StorageState,
    make_prompt: Callable[..., str],
    api: httpx2.Client,
    file: Path,
) -> None:
    prompt = make_prompt("before")
    browser = chromium.browser_type.launch(executable_path=find_chromium(), args=ARGUMENTS)
    page = browser.new_context(base_url=live_stack.base_url, storage_state=session).new_page()
    network = page.context.new_cdp_session(page)
    network.send("Network.emulateNetworkConditions", SLOW)
    Workbench(page).open(prompt)
    wait_for(page, attach(page, file), 0.4)
    browser.close()
    assert len(unfinished(live_stack, prompt)) == 1
    assert len(api.get(f"prompts/{prompt}/versions").json()["results"]) == 1
    with psycopg.connect(live_stack.environment["DATABASE_URL"]) as database:
        later = "UPDATE playground_upload SET expires_at = now() - interval '2 hours' WHERE prompt_id = %s RETURNING id"
        (upload,) = database.execute(later, [prompt]).fetchone() or ("",)
    Celery(broker=live_stack.environment["REDIS_URL"]).send_task("playground.tasks.expire_uploads", queue="upkeep")
    wait_until(lambda: not unfinished(live_stack, prompt), every_s=0.2)
    assert api.get(f"uploads/{upload}").json()["error"]["code"] == "expired"
