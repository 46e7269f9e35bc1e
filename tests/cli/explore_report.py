#!/usr/bin/env python3
"""Uses a report's page in headless Chromium as a reader does, by keyboard and by pointer, on a wide
screen and on a phone, and says what does not answer. Exit code 1 if anything does not.

    explore_report.py CHROMIUM PAGE SHAPE

SHAPE is one whose race has several configs.
"""

import json
import pathlib
import sys

from check_page import become, complaints_of_events, opened

KEYS = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39,
    "Escape": 27}


class Reader:
    def __init__(self, browser, session, address):
        self.browser, self.session, self.address, self.wrong = browser, session, address, []

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def open(self, address):
        # A page of its own: another place on the same page is not loaded anew.
        for where in ("about:blank", address):
            self.browser.events = [event for event in self.browser.events
                                   if event.get("method") != "Page.loadEventFired"]
            self.call("Page.navigate", url=where)
            self.browser.until("Page.loadEventFired")

    def see(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            self.wrong.append(f"{expression}: {answer['exceptionDetails']['exception']['description']}")
            return None
        return answer["result"].get("value")

    def expect(self, what, expression):
        if not self.see(expression):
            self.wrong.append(f"{what}: not so: {expression}")

    def focus(self, selector):
        """What the tab key reaches."""
        self.expect(f"{selector} has the focus", f"""(() => {{
            const at = document.querySelector({json.dumps(selector)});
            if (!at || at.tabIndex < 0 || at.hidden || !at.getClientRects().length) return false;
            at.focus();
            return document.activeElement === at; }})()""")

    def press(self, key):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=KEYS[key], **(text if kind == "keyDown" else {}))

    def pointer(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                  buttons=0 if kind == "mouseReleased" else 1, clickCount=1)

    def middle(self, selector):
        """On the screen, once it was scrolled there."""
        return self.see(f"""(() => {{
            const at = document.querySelector({json.dumps(selector)});
            at.scrollIntoView({{block: "center"}});
            const box = at.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2, box.height]; }})()""")


TIP = 'document.getElementById("tip")'


def sorts(reader, phone):
    if phone:
        reader.focus("#filters [name=sort]")
        before = reader.see("document.querySelector('#filters [name=sort]').value")
        reader.press("ArrowDown")
        reader.expect("the list of orders",
            f"document.querySelector('#filters [name=sort]').value !== {json.dumps(before)}")
        reader.see("choose({sort: '-time_us'})")
    else:
        reader.focus("#table [data-sort=time_us]")
        reader.press("Enter")
        reader.expect("the column says how it is sorted",
                      "document.querySelector('#table [aria-sort=descending]').textContent.startsWith('us')")
        reader.expect("the focus stays", "document.activeElement.dataset.sort === 'time_us'")
    order = """(() => { const all = [...document.querySelectorAll('#table tbody tr')].map(
        row => ROW_OF.get(row.dataset.row).time_us);
        return all.length > 1 && all.every((us, i) => i === 0 || us SIGN all[i - 1]); })()"""
    reader.expect("slowest first", order.replace("SIGN", "<="))
    reader.expect("the link has the order", "location.hash.includes('sort=-time_us')")
    if not phone:
        reader.press("Enter")
        reader.expect("fastest first", order.replace("SIGN", ">="))


def filters(reader, shape):
    reader.focus("#filters [name=q]")
    reader.call("Input.insertText", text=shape)
    reader.expect("only the shape is left",
        f"""[...document.querySelectorAll('#table tbody tr')].length > 0 &&
        [...document.querySelectorAll('#table tbody tr')].every(row => row.dataset.row.startsWith({json.dumps(shape)}))""")
    reader.expect("how many there are",
                  "document.querySelector('#filters .count').textContent.includes(` of ${ROWS.length} rows`)")
    reader.expect("the link has the words", f"location.hash.includes('q={shape}')")


def opens(reader):
    reader.focus("#table tbody tr")
    reader.expect("the tooltip of a row", f"!{TIP}.hidden && /SM clock/.test({TIP}.textContent)")
    reader.expect("interval and ties",
        f"/x cuBLAS \\d.*\\[[\\d.]+, [\\d.]+\\]/.test({TIP}.textContent) && /ties/.test({TIP}.textContent)"
                  f" || /no interval/.test({TIP}.textContent)")
    reader.expect("lit in the charts, too",
                  "[...document.querySelectorAll('.hot')].filter(one => one.closest('svg')).length > 0 || "
                  "!ROW_OF.get(document.activeElement.dataset.row).levels.includes(state.pdl) || "
                  "ROW_OF.get(document.activeElement.dataset.row).regime !== state.regime")
    reader.press("Escape")
    reader.expect("Escape ends it", f"{TIP}.hidden")
    reader.press("Enter")
    reader.expect("Enter opens the race", "!document.getElementById('race').hidden && !!state.row")
    reader.expect("the focus goes there", "document.activeElement.closest('#race') !== null")
    reader.expect("the link has the row",
        "new URLSearchParams(location.hash.slice(1)).get('row') === state.row")
    reader.expect("all configs",
        "race.configs.length > 1 && document.querySelectorAll('#strip .mark').length === race.configs.length"
                  " && document.querySelectorAll('#parallel .mark').length === race.configs.length")


def marks(reader):
    for chart in ("#bars", "#roof", "#strip", "#parallel"):
        reader.focus(f"{chart} .mark[tabindex='0']")
        reader.expect(f"a tooltip in {chart}",
            f"!{TIP}.hidden && /SM clock/.test({TIP}.textContent) && "
                      f"/interval|\\[/.test({TIP}.textContent) && /tie/.test({TIP}.textContent)")
        first = reader.see("document.activeElement.getAttribute('aria-label')")
        back = reader.see(f"(() => {{ const all = [...document.querySelectorAll('{chart} .mark')];"
                          " return all.indexOf(document.activeElement) === all.length - 1; })()")
        reader.press("ArrowLeft" if back else "ArrowRight")
        reader.expect(f"arrows go on in {chart}",
            f"document.activeElement.matches('{chart} .mark') && "
                      f"document.activeElement.getAttribute('aria-label') !== {json.dumps(first)}")
    reader.focus("#bars .mark[tabindex='0']")
    reader.expect("its dot in the roofline is lit",
        "document.querySelectorAll('#roof .mark.hot').length === 1")
    x, y, _ = reader.middle("#roof .mark .ours")
    reader.pointer("mouseMoved", x, y)
    reader.expect("a tooltip under the pointer", f"!{TIP}.hidden")
    reader.expect("its bar is lit", "document.querySelectorAll('#bars .mark.hot').length === 1")


def brushes(reader):
    axis = reader.see("axesOf(race.configs).find(axis => valuesOf(axis, race.configs).length > 1)")
    all_configs = reader.see("race.configs.length")
    reader.focus(f"#race-filters [data-axis='{axis}']")
    reader.press("ArrowDown")
    kept = reader.see("race.configs.filter(isKept).length")
    if not kept or kept >= all_configs:
        reader.wrong.append(f"{kept} of {all_configs} configs are kept of one value of {axis}")
    reader.expect("the link has what is kept", f"location.hash.includes('brush.{axis}=')")
    reader.expect("the others fade",
        f"document.querySelectorAll('#strip .mark.off').length === {all_configs - (kept or 0)}")
    reader.focus("#race-filters [data-axis='clear']")
    reader.press("Enter")
    reader.expect("all are kept again", "race.configs.every(isKept)")
    x, y, height = reader.middle("#parallel .axis:last-of-type .brush .overlay")
    reader.pointer("mousePressed", x, y - height * 0.45)
    reader.pointer("mouseMoved", x, y - height * 0.2)
    reader.pointer("mouseReleased", x, y)
    reader.expect("a drag along an axis keeps a part",
        "'speed' in state.brush && race.configs.filter(isKept).length < race.configs.length")
    reader.see("choose({brush: {}})")


def copies(reader):
    # The clipboard itself is the browser's: what the page gives it is what it says.
    reader.focus("#configs .copy")
    reader.press("Enter")
    reader.see("new Promise(done => setTimeout(done, 100))")
    reader.expect("what was copied",
        "document.getElementById('said').textContent === `label copied: ${race.configs[0].label}`")
    reader.focus("#configs .copy + .copy")
    reader.press("Enter")
    reader.see("new Promise(done => setTimeout(done, 100))")
    reader.expect("the command",
        "document.getElementById('said').textContent.includes(`hgemm-tune --shapes ${raceRow.shape} "
                  "--regime ${raceRow.regime} --config ${race.configs[0].label}`)")


def switches(reader):
    reader.focus("#gain [name=pdl]:checked")
    before = reader.see("document.getElementById('gain-answer').textContent")
    reader.press("ArrowLeft")
    reader.expect("PDL up to safe", "state.pdl === 'safe' && location.hash.includes('pdl=safe')")
    reader.expect("another answer",
        f"document.getElementById('gain-answer').textContent !== {json.dumps(before)}")
    reader.expect("the means are of those rows", """(() => {
        const rows = ROWS.filter(row => row.regime === 'sustained' && row.levels.includes('safe') && row.stage === 'final' && row.ratio_cublas);
        const first = rows.filter(row => row.group === rows[0].group).map(row => row.ratio_cublas);
        const mean = Math.exp(first.reduce((sum, ratio) => sum + Math.log(ratio),
            0) / first.length);
        return document.getElementById('gain-table').tBodies[0].textContent.includes(mean.toFixed(3)); })()""")


def links(reader):
    look = """JSON.stringify([state, document.querySelector('#race h2').textContent, document.getElementById('gain-answer').textContent,
        document.querySelector('#filters .count').textContent, document.querySelector('#table tbody tr').dataset.row,
        document.querySelectorAll('#strip .off').length, document.querySelectorAll('.chosen').length])"""
    reader.see("choose({strip: 'cluster', brush: {cluster: [valuesOf('cluster', race.configs)[0]]}, regime: 'sustained'})")
    before, address = reader.see(look), reader.see("location.href")
    reader.open(address)
    if reader.see(look) != before:
        reader.wrong.append(f"a link does not bring back what was seen: {address}: {reader.see(look)} instead of {before}")
    reader.see("choose({row: '', brush: {}}, true)")
    reader.see("new Promise(done => { addEventListener('popstate', () => setTimeout(done, 0), {once: true}); history.back(); })")
    if reader.see(look) != before:
        reader.wrong.append("Back does not bring back what was seen")
    reader.open(reader.address
        + "#row=%3Cimg%20src%3Dx%3E&pdl=no&regime=%00&brush.tile=%22&sort=nothing")
    reader.expect("a link that is wrong is as none",
        "state.row === '' && state.pdl === 'weights' && state.regime === 'sustained'")
    row = reader.see("encodeURIComponent(ROWS[0].id)")
    reader.open(reader.address
        + f"#row={row}&brush.constructor=1&brush.speed=x,y&brush.__proto__=1&strip=toString&config=%22%5D")
    reader.expect("one that is half right is so far followed",
        "race.configs.every(isKept) && document.querySelectorAll('#strip .mark').length > 0")


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    program, page, shape = arguments
    address = pathlib.Path(page).resolve().as_uri()
    wrong = []
    with opened(program) as (browser, session):
        for width, dark in ((1440, False), (390, True)):
            become(browser, session, width, dark)
            browser.events.clear()
            reader = Reader(browser, session, address)
            reader.open(address)
            sorts(reader, width < 600)
            filters(reader, shape)
            opens(reader)
            marks(reader)
            brushes(reader)
            copies(reader)
            switches(reader)
            links(reader)
            row = reader.see("encodeURIComponent(ROWS[0].id)")
            for other in (width, 320, 600, 768, 1001, 1181):
                become(browser, session, other, dark)
                reader.open(address + f"#row={row}")
                reader.expect(f"nothing scrolls sideways at {other} px",
                              f"innerWidth === {other} && document.documentElement.scrollWidth <= innerWidth")
            found = reader.wrong + [one for one in complaints_of_events(browser.events, address)
                                    if one != "request: about:blank"]
            wrong += [f"{width} px: {one}" for one in found]
    print("\n".join(wrong) or "the page answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
