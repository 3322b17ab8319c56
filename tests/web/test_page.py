"""The status page in a real browser, over a running `edgekeeper up`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web.browser import Page, open_page
from tests.web.conftest import Up

MOST_STOPS = 60
CHECKS = (Path(__file__).parent / "checks.js").read_text()
TENANTS = "#/object/cloudfront-tenant-operator.io/DistributionTenant/edge"
DISTRIBUTION = "E1XNX8R2GOAABC"
ROUTE = "#/object/*/HTTPRoute/apps/wiki"
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


def rows_of(section: str) -> str:
    """The cells of the table in a section of an object's page."""
    rows = f"document.querySelectorAll('section[aria-labelledby=title-{section}] tbody tr')"
    return f"[...{rows}].map((row) => [...row.cells].map((cell) => cell.innerText))"


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
    assert await page.value(rows_of("drift")) == [["enabled", "false", "true"]]
    await page.click("[data-key=plan]")
    await page.wait("document.getElementById('plan').innerText.includes('changed outside the operator')")
    await up.edit_in_aws("drifting", enabled=True)
    await page.wait("document.querySelector('h1 .state').dataset.state === 'ready'", 60)


async def test_drift_of_a_route_appears_by_itself_field_by_field(page: Page, up: Up) -> None:
    await up.annotate_route("wiki", **{"edgekeeper.io/drift-policy": "report"})
    await visit(page, ROUTE)
    await page.wait("document.querySelector('h1 .state').dataset.state === 'ready'", 60)
    assert await page.value("location.hash") == ROUTE.replace("*", "gateway.networking.k8s.io")
    await up.edit_at_cloudflare("wiki.example.com", proxied=False)
    await page.wait("document.querySelector('h1 .state').dataset.state === 'drifted'", 60)
    await page.wait("document.querySelector('section[aria-labelledby=title-drift] tbody')")
    assert await page.value(rows_of("drift")) == [["dns[CNAME wiki.example.com].proxied", "false", "true"]]
    assert "HTTPRoute apps/wiki: Drifted" in await page.value(
        "document.getElementById('announcer').innerText"
    )
    await page.click("[data-key=plan]")
    await page.wait("document.getElementById('plan').innerText.includes('proxied')")
    await up.annotate_route("wiki", **{"edgekeeper.io/drift-policy": None})
    await page.wait("document.querySelector('h1 .state').dataset.state === 'ready'", 60)


async def test_change_says_who_made_it_and_leads_to_its_object(page: Page, up: Up) -> None:
    await tenant(up, "renamed")
    await visit(page, "#/changes")
    entry = "[...document.querySelectorAll('ol.changes li')].find((one) => one.innerText.includes('edge/renamed') && one.innerText.includes('created'))"
    await page.wait(entry)
    assert "by kubectl apply --server-side, generation 1" in await page.value(f"({entry}).innerText")
    await page.value(f"({entry}).querySelector('a').click()")
    await page.wait("document.querySelector('h1').innerText.includes('edge/renamed')")
    await page.wait("document.getElementById('writer').innerText.startsWith('kubectl apply --server-side')")
    assert await page.value("location.hash") == f"{TENANTS}/renamed"


async def test_object_that_needs_somebody_says_what_to_do(page: Page, up: Up) -> None:
    await tenant(up, "misplaced", "E0MISSING")
    await visit(page, "#/")
    await page.wait("document.querySelector('h1').innerText.includes('need')", 60)
    assert "edge/misplaced" in await names(page)
    await visit(page, f"{TENANTS}/misplaced")
    assert "What to do" in await page.value(text("main"))


async def test_graph_of_an_instance_has_live_states(page: Page) -> None:
    await visit(page, SERVICE_QUERY)
    await page.click("tr[data-id] a.name")
    await page.wait("document.querySelector('.graph img')?.naturalWidth > 100")
    states = await page.value(
        "[...document.querySelectorAll('section[aria-labelledby=title-graph] tbody .state')].map((one) => one.innerText)"
    )
    assert len(states) > 3
    assert "Ready" in states
    await page.click("[data-key=plan]")
    await page.wait("document.getElementById('plan').innerText.includes('nothing is to be done')")
    assert "create Deployment apps/handbook" in await page.value("document.querySelector('main').textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_picture_of_a_graph_is_drawn_for_the_theme(page: Page, scheme: str) -> None:
    await page.prefer(scheme)
    await visit(page, SERVICE_QUERY)
    await page.click("tr[data-id] a.name")
    await page.wait("document.querySelector('.graph img')?.naturalWidth > 100")
    assert f"theme={scheme}" in await page.value("document.querySelector('.graph img').src")
    await page.value("document.getElementById('theme').click()")  # light
    await page.value("document.getElementById('theme').click()")  # dark
    await page.wait("document.querySelector('.graph img').src.includes('theme=dark')")


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


@pytest.mark.parametrize("width", [360, 768, 970, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_are_accessible(page: Page, width: int, scheme: str) -> None:
    await page.prefer(scheme)
    await page.resize(width, 800)
    for address in ("#/", "#/objects", "#/changes", f"{TENANTS}/shop", ROUTE, SERVICE_QUERY):
        await visit(page, address)
        if address == SERVICE_QUERY:
            await page.click("tr[data-id] a.name")
            await page.wait("document.querySelector('.graph img')?.naturalWidth > 100")
        assert await page.value(CHECKS) == [], address


async def test_checks_find_what_is_not_accessible(page: Page) -> None:
    await page.value(
        """document.querySelector('main').insertAdjacentHTML('beforeend',
        '<h1></h1><button></button><img src="/icon.svg"><section><p id="long">long</p></section><p id="faint">hardly visible</p>'
        + '<p id="faint"></p><table><tbody><tr><td>1</td></tr></tbody></table><a href="#" tabindex="3">a</a>'
        + '<h4>deep</h4><label for="nothing">of nothing</label><nav aria-label="Pages"></nav>'
        + '<button id="small" aria-label="small"></button><input id="pale" placeholder="pale" aria-label="pale">')"""
    )
    await page.value("document.body.insertAdjacentText('beforeend', 'somewhere')")
    await page.value("document.getElementById('long').style.width = '3000px'")
    style = "Object.assign(document.getElementById('{}').style, {})"
    await page.value(style.format("small", "{width: '20px', height: '20px', padding: 0, minHeight: 0}"))
    await page.value(style.format("pale", "{borderColor: getComputedStyle(document.body).backgroundColor}"))
    await page.value(
        "document.getElementById('faint').style.color = getComputedStyle(document.body).backgroundColor"
    )
    await page.value("document.getElementById('faint').style.width = '5000px'")
    found = "\n".join(await page.value(CHECKS))
    for wrong in ("no name", "without alt", "2 h1", "section without", "without caption", "without column"):
        assert wrong in found
    for wrong in ("row without header", "id faint twice", "tab order", "contrast 1.00", "pixels too wide"):
        assert wrong in found
    for wrong in ("level 4 after 1", "for leads nowhere", "same name", "only 20 × 20", "of the border of"):
        assert wrong in found
    assert "outside of all landmarks: somewhere" in found
    assert "pixels wider than the panel" in found


async def test_hidden_page_holds_no_connection(page: Page) -> None:
    hidden = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}});"
    told = "document.dispatchEvent(new Event('visibilitychange'))"
    await page.value(hidden.format("true") + told)
    assert await page.value("document.getElementById('live').dataset.live") == "connecting"
    await page.value(hidden.format("false") + told)
    await page.wait("document.getElementById('live').dataset.live === 'live'")


async def test_tab_that_is_opened_in_the_background_holds_no_connection(page: Page) -> None:
    hidden = "Object.defineProperty(document, 'hidden', {value: true, configurable: true})"
    await page.command("Page.addScriptToEvaluateOnNewDocument", source=hidden)
    await page.command("Page.reload")
    await page.wait("document.querySelector('.tiles')")
    opened = "performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"
    assert "/api/overview" in await page.value(opened)
    assert "/events" not in await page.value(opened)
    assert await page.value("document.getElementById('live').dataset.live") == "connecting"


HELD = """{
  const real = window.fetch;
  window.fetch = (path, options = {}) => String(path).startsWith("PREFIX") ? new Promise((resolve, reject) => {
    window.release = () => resolve(real(path, options));
    options.signal?.addEventListener("abort", () => reject(new DOMException("gone", "AbortError")));
  }) : real(path, options);
}"""
"""Holds requests back until `release` is called, or they are aborted."""


async def test_somebody_who_goes_elsewhere_while_a_graph_is_read_stays_there(page: Page) -> None:
    await page.value(HELD.replace("PREFIX", "/api/graph/"))
    await page.value("location.hash = '#/object/*/TubiService/apps/handbook'")
    await page.wait("window.release")
    await visit(page, "#/objects?q=shop")
    await page.wait("document.querySelectorAll('tr[data-id]').length > 0")
    assert await page.value("location.hash") == "#/objects?q=shop"
    assert "handbook" not in await page.value(text("main"))


async def test_plan_appears_although_the_page_was_drawn_anew_meanwhile(page: Page) -> None:
    await page.value(HELD.replace("PREFIX", "/api/plan/"))
    await visit(page, f"{TENANTS}/shop")
    await page.click("[data-key=plan]")
    await page.wait("window.release")
    await visit(page, f"{TENANTS}/shop")
    assert "Reading the clouds" in await page.value(text("#plan"))
    await page.value("window.release()")
    await page.wait("document.getElementById('plan').innerText.includes('nothing is to be done')")
    assert await page.value("document.querySelector('[data-key=plan]').ariaDisabled") is None


async def test_focus_and_open_parts_stay_while_the_page_is_drawn_anew(page: Page, up: Up) -> None:
    await visit(page, "#/")
    await page.wait("document.querySelector('ol.changes summary')")
    await page.value("document.querySelector('ol.changes summary').click()")
    await page.value("document.querySelector('ol.changes summary').focus()")
    key = await page.value("document.activeElement.dataset.key")
    await tenant(up, "focused")
    await page.wait("document.querySelector('ol.changes').innerText.includes('edge/focused')", 60)
    assert await page.value("document.activeElement.dataset.key") == key
    assert await page.value("document.activeElement.parentElement.open") is True


async def test_older_changes_are_not_mixed_with_new_ones(page: Page, up: Up) -> None:
    await visit(page, "#/changes?before=5")
    shown = await page.value(text("ol.changes"))
    await page.value(
        "void new EventSource('/events').addEventListener('change', () => { window.told = true; })"
    )
    await tenant(up, "newest")
    await page.wait("window.told")
    assert await page.value(text("ol.changes")) == shown


async def test_filter_that_is_being_typed_stays(page: Page, up: Up) -> None:
    await visit(page, "#/objects?q=typing")
    await page.value("document.querySelector('input[name=namespace]').focus()")
    await page.type("ed")
    await page.value(
        "void new EventSource('/events').addEventListener('rows', () => { window.told = true; })"
    )
    await tenant(up, "typing")
    await page.wait("window.told")
    # A timer that ends after the one by which the page gathers changes, and what that one would have loaded.
    loaded = "new Promise((done) => setTimeout(() => fetch('/api/objects').then((one) => one.json()).then(() => done(1)), 1200))"
    assert await page.value(loaded) == 1
    await page.type("ge")
    assert await page.value("document.activeElement.value") == "edge"
    await page.press("Tab")
    await page.wait("location.hash.includes('namespace=edge')")
    await page.wait("document.querySelectorAll('tr[data-id]').length === 1")


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


STOPS = "a[href], button:not([disabled]), input, select, summary, [tabindex='0']"
MARK = f"""(() => {{
  const found = [...document.querySelectorAll("{STOPS}")].filter((one) => one.checkVisibility() && !one.closest("dialog"));
  found.forEach((one, number) => {{ one.dataset.stop = number; }});
  found[0].focus();
  return found.length;
}})()"""
STOP = """(() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  const hidden = box.bottom < 0 || box.top > innerHeight || box.right < 0;
  return [at.dataset.stop ?? "", style.outlineStyle !== "none" && style.outlineWidth !== "0px" && !hidden];
})()"""


@pytest.mark.parametrize("address", ["#/", "#/objects", "#/changes", f"{TENANTS}/shop", ROUTE])
async def test_everything_can_be_reached_with_the_tab_key_and_seen(page: Page, address: str) -> None:
    await page.command("Network.enable")
    await visit(page, address)
    await page.command(
        "Network.setBlockedURLs", urls=["*/api/*", "*/events"]
    )  # nothing is drawn anew meanwhile
    await page.value("void window.stop()")
    count = min(await page.value(MARK), MOST_STOPS)
    assert count > 10
    for number in range(1, count):
        await page.press("Tab")
        assert await page.value(STOP) == [str(number), True], await page.value(
            "document.activeElement.outerHTML"
        )
    page.problems.clear()  # Chromium logs the requests that the test has blocked


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
    await page.command("Network.setBlockedURLs", urls=[])
    await tenant(up, "seen")
    await page.wait("document.getElementById('live').dataset.live === 'live'")
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


async def test_browser_whose_right_is_withdrawn_is_asked_for_another_token(page: Page) -> None:
    """In a cluster, where the API server decides: the operator answers 403."""
    await visit(page, "#/objects?q=shop")
    assert "edge/shop" in await names(page)
    answer = 'new Response(\'{"error": "the right is missing"}\', {status: 403})'
    await page.value(f"window.fetch = async () => {answer}; location.hash = '#/objects?q=sho'; 1")
    await page.wait("document.getElementById('login').open")
    assert await page.value(text("#login-hint")) == "the right is missing"
    assert "edge/shop" not in await page.value("document.body.innerText")


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
            await page.click("tr[data-id] a.name")
            await page.wait("document.querySelector('.graph img')?.naturalWidth > 100")
        picture = await page.shoot()
        assert 10_000 < len(picture) < 200_000
        (pictures / f"status-{name}.png").write_bytes(picture)
