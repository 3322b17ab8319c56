"""The status page in a real browser, over a running `edgekeeper up`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web.browser import Page, open_page
from tests.web.conftest import Up

CHECKS = (Path(__file__).parent / "checks.js").read_text()
TENANTS = "#/object/cloudfront-tenant-operator.io/DistributionTenant/edge"
DISTRIBUTION = "E1XNX8R2GOAABC"
SERVICE_QUERY = "#/objects?kind=TubiService"


async def visit(page: Page, address: str) -> None:
    """Go to an address within the page, and wait until it is shown."""
    await page.value("document.querySelector('main').setAttribute('aria-busy', 'true')")
    await page.value(
        f"location.hash === {address!r} ? void dispatchEvent(new Event('hashchange')) : void (location.hash = {address!r})"
    )
    await page.wait("document.querySelector('main').getAttribute('aria-busy') === 'false'")


def text(selector: str) -> str:
    return f"document.querySelector({selector!r})?.innerText ?? ''"


async def names(page: Page) -> list[str]:
    found: list[str] = await page.value(
        "[...document.querySelectorAll('tr[data-id] a.name')].map((one) => one.innerText)"
    )
    return found


async def tenant(up: Up, name: str, distribution: str = DISTRIBUTION, **annotations: str) -> None:
    spec = {"distributionId": distribution, "domains": [{"domain": f"{name}.example.com"}]}
    await up.apply(name, spec, **annotations)


async def test_overview_says_that_everything_is_as_declared(page: Page) -> None:
    await page.wait("document.querySelector('h1').innerText.length > 0")
    assert await page.value("location.search") == ""
    assert "Ready" in await page.value(text(".tiles"))
    assert "cloudfront-write" in await page.value(text("main"))
    assert await page.value("document.cookie") == ""
    assert "simulated clouds" in await page.value(text("footer"))


async def test_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    origins = await page.value(
        "[...new Set(performance.getEntriesByType('resource').map((one) => new URL(one.name).origin))]"
    )
    assert origins == [await page.value("location.origin")]


async def test_keys_lead_through_the_list(page: Page) -> None:
    await visit(page, "#/objects?kind=DistributionTenant")
    listed = await names(page)
    assert "edge/shop" in listed
    focused = "document.activeElement.innerText"
    await page.press("j")
    assert await page.value(focused) == listed[0]
    await page.press("j")
    assert await page.value(focused) == listed[1]
    await page.press("k")
    assert await page.value(focused) == listed[0]
    await page.press("Enter")
    await page.wait(f"document.querySelector('h1').innerText.includes({listed[0]!r})")
    await page.press("Escape")
    await page.wait(
        "location.hash === '#/objects?kind=DistributionTenant' && document.querySelectorAll('tr[data-id]').length"
    )
    await page.press("/")
    assert await page.value("document.activeElement.id") == "search"


async def test_search_is_done_by_the_server(page: Page) -> None:
    await page.press("/")
    await page.type("store.example")
    await page.wait("document.querySelectorAll('tr[data-id]').length === 1")
    assert await names(page) == ["edge/shop"]
    assert await page.value("location.hash") == "#/objects?q=store.example"
    await page.value("document.getElementById('search').select()")
    await page.type("nothing-like-it")
    await page.wait("document.querySelector('main').innerText.includes('No object matches')")


async def test_drift_appears_by_itself_field_by_field(page: Page, up: Up) -> None:
    await tenant(up, "drifting", **{"edgekeeper.io/drift-policy": "report"})
    await visit(page, "#/objects?q=drifting")
    state = "document.querySelector('tr[data-id] .state')?.dataset.state"
    await page.wait(f"{state} === 'ready'", 60)
    await page.value("window.sameDocument = true")
    await up.edit_in_aws("drifting", enabled=False)
    await page.wait(f"{state} === 'drifted'", 60)
    assert await page.value("window.sameDocument") is True
    await visit(page, f"{TENANTS}/drifting")
    cells = "[...document.querySelectorAll('section[aria-labelledby=title-drift] tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"
    assert await page.value(cells) == [["enabled", "false", "true"]]
    await page.value("document.querySelector('[data-key=plan]').click()")
    await page.wait("document.getElementById('plan').innerText.includes('changed outside the operator')")
    await up.edit_in_aws("drifting", enabled=True)
    await page.wait("document.querySelector('h1 .state').dataset.state === 'ready'", 60)


async def test_object_that_needs_somebody_says_what_to_do(page: Page, up: Up) -> None:
    await tenant(up, "misplaced", "E0MISSING")
    await visit(page, "#/")
    await page.wait("document.querySelector('h1').innerText.includes('need')", 60)
    assert "edge/misplaced" in await names(page)
    await visit(page, f"{TENANTS}/misplaced")
    assert "What to do" in await page.value(text("main"))


async def test_graph_of_an_instance_has_live_states(page: Page) -> None:
    await visit(page, SERVICE_QUERY)
    await page.value("document.querySelector('tr[data-id] a.name').click()")
    await page.wait("document.querySelector('.graph img')?.naturalWidth > 100")
    states = await page.value(
        "[...document.querySelectorAll('section[aria-labelledby=title-graph] tbody .state')].map((one) => one.innerText)"
    )
    assert len(states) > 3
    assert "Ready" in states


async def test_markup_of_users_is_text(page: Page, up: Up) -> None:
    markup = "<img src=x onerror=window.hurt=1>"
    spec = {
        "distributionId": DISTRIBUTION,
        "domains": [{"domain": "marked.example.com"}],
        "tags": [{"key": "note", "value": "a"}],
        "parameters": [{"name": "note", "value": markup}],
    }
    await up.apply("marked", spec)
    await visit(page, "#/objects?q=marked")
    await page.wait("document.querySelectorAll('tr[data-id]').length > 0")
    await visit(page, f"{TENANTS}/marked")
    await page.wait("document.querySelectorAll('ol.changes li').length > 0", 60)
    await page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert markup in await page.value("document.querySelector('main').innerText")
    assert await page.value("window.hurt") is None
    assert await page.value("[...document.images].every((one) => new URL(one.src).pathname !== '/x')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_theme_follows_the_system_and_the_switch(page: Page, scheme: str) -> None:
    await page.prefer(scheme)
    luminance = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b)"
    )
    is_dark = f"({luminance}) < 200"
    assert await page.value(is_dark) is (scheme == "dark")
    for expected in ("light", "dark"):
        await page.value("document.getElementById('theme').click()")
        assert await page.value(text("#theme")) == f"Theme: {expected}"
        assert await page.value(is_dark) is (expected == "dark")
    await page.command("Page.reload")
    await page.wait("document.getElementById('theme')?.innerText === 'Theme: dark'")
    assert await page.value(is_dark) is True


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_are_accessible(page: Page, width: int, scheme: str) -> None:
    await page.prefer(scheme)
    await page.resize(width, 800)
    for address in ("#/", "#/objects", "#/changes", f"{TENANTS}/shop", SERVICE_QUERY):
        await visit(page, address)
        if address == SERVICE_QUERY:
            await page.value("document.querySelector('tr[data-id] a.name').click()")
            await page.wait("document.querySelector('.graph img')?.naturalWidth > 100")
        assert await page.value(CHECKS) == [], address


async def test_checks_find_what_is_not_accessible(page: Page) -> None:
    await page.value(
        """document.querySelector('main').insertAdjacentHTML('beforeend',
        '<h1></h1><button></button><img src="/icon.svg"><section></section><p id="faint">hardly visible</p>'
        + '<p id="faint"></p><table><tbody><tr><td>1</td></tr></tbody></table><a href="#" tabindex="3">a</a>')"""
    )
    await page.value(
        "document.getElementById('faint').style.color = getComputedStyle(document.body).backgroundColor"
    )
    await page.value("document.getElementById('faint').style.width = '5000px'")
    found = "\n".join(await page.value(CHECKS))
    for wrong in ("no name", "without alt", "2 h1", "section without", "without caption", "without column"):
        assert wrong in found
    for wrong in ("row without header", "id faint twice", "tab order", "contrast 1.00", "pixels too wide"):
        assert wrong in found


async def test_hidden_page_holds_no_connection(page: Page) -> None:
    hidden = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}});"
    told = "document.dispatchEvent(new Event('visibilitychange'))"
    await page.value(hidden.format("true") + told)
    assert await page.value("document.getElementById('live').dataset.live") == "connecting"
    await page.value(hidden.format("false") + told)
    await page.wait("document.getElementById('live').dataset.live === 'live'")


async def test_narrow_screens_get_cards(page: Page) -> None:
    await page.resize(360, 800)
    await visit(page, "#/objects")
    assert await page.value("getComputedStyle(document.querySelector('tr[data-id]')).display") == "block"
    await page.resize(1280, 800)
    assert await page.value("getComputedStyle(document.querySelector('tr[data-id]')).display") == "table-row"


async def test_tab_leads_through_the_page_in_order_and_is_visible(page: Page) -> None:
    await page.command("Page.reload")
    await page.wait("document.querySelector('.tiles')")
    seen = []
    for _ in range(8):
        await page.press("Tab")
        found = await page.value(
            "(() => { const e = document.activeElement; return [e.id || e.dataset.page || e.className, getComputedStyle(e).outlineWidth]; })()"
        )
        assert found[1] != "0px", found
        seen.append(found[0])
    assert seen == ["skip", "brand", "overview", "objects", "changes", "search", "theme", "keys"]


async def test_page_asks_where_events_do_not_come(page: Page, up: Up) -> None:
    await page.command("Network.enable")
    await page.command("Network.setBlockedURLs", urls=["*/events"])
    await visit(page, "#/objects?q=polled")
    await page.command("Page.reload")
    await page.wait("document.getElementById('live').dataset.live === 'polling'")
    await tenant(up, "polled")
    await page.wait("document.querySelectorAll('tr[data-id]').length === 1", 60)
    page.problems.clear()  # Chromium logs the requests that the test has blocked


async def test_page_stays_where_the_operator_does_not_answer(page: Page, up: Up) -> None:
    await visit(page, "#/objects?q=shop")
    await page.command("Network.enable")
    await page.command("Network.setBlockedURLs", urls=["*/api/*"])
    await tenant(up, "unseen")
    await page.wait("document.getElementById('live').dataset.live === 'offline'")
    assert "edge/shop" in await names(page)
    page.problems.clear()  # Chromium logs the requests that the test has blocked


async def test_browser_without_the_link_is_asked_for_the_token(devtools: int, up: Up) -> None:
    address, _, token = up.link.partition("?token=")
    async with open_page(devtools) as page:
        await page.go(address)
        await page.wait("document.getElementById('login').open")
        assert "edgekeeper up" in await page.value(text("#login-hint"))
        assert "shop" not in await page.value("document.body.innerText")
        await page.value("document.getElementById('token').focus()")
        await page.type("wrong")
        await page.press("Enter")
        await page.wait("document.getElementById('login-problem').innerText.includes('not accepted')")
        await page.value("document.getElementById('token').select()")
        await page.type(token)
        await page.press("Enter")
        await page.wait("!document.getElementById('login').open && document.querySelector('.tiles')")


async def test_pictures_for_the_documentation(page: Page, up: Up, pictures: Path | None) -> None:
    if pictures is None:
        pytest.skip("EDGEKEEPER_SCREENSHOTS names no directory")
    await tenant(up, "catalog", **{"edgekeeper.io/drift-policy": "report"})
    await tenant(up, "campaign", "E0CAMPAIGN")
    await visit(page, "#/objects?q=catalog")
    await page.wait("document.querySelector('tr[data-id] .state')?.dataset.state === 'ready'", 60)
    await up.edit_in_aws("catalog", enabled=False)
    await page.wait("document.querySelector('tr[data-id] .state')?.dataset.state === 'drifted'", 60)
    await page.resize(1200, 760)
    shots = (
        ("overview-light", "light", "#/"),
        ("overview-dark", "dark", "#/"),
        ("object-light", "light", f"{TENANTS}/catalog"),
        ("graph-dark", "dark", SERVICE_QUERY),
    )
    for name, scheme, address in shots:
        await page.prefer(scheme)
        await visit(page, address)
        if address == SERVICE_QUERY:
            await page.value("document.querySelector('tr[data-id] a.name').click()")
            await page.wait("document.querySelector('.graph img')?.naturalWidth > 100")
        picture = await page.shoot()
        assert 10_000 < len(picture) < 200_000
        (pictures / f"status-{name}.png").write_bytes(picture)
