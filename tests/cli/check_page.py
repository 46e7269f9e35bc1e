#!/usr/bin/env python3
"""Opens a page in headless Chromium, as a phone and as a wide screen, light and dark, and names what
is wrong with it: errors on the console, requests beyond the file itself, figures that are not there
or have no size, letters below 12 px, anything that makes the page scroll sideways. Exit code 1 if
anything is.

    check_page.py CHROMIUM PAGE [FIGURE...]

Speaks the DevTools protocol over the pipe that Chromium offers, so that nothing but Python is needed.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WIDTHS = (390, 1440)
SMALLEST_PX = 12
# Sections by what they hold; boxes wider than the page must scroll by themselves.
LOOK = """(() => {
  const of = name => document.querySelector(`[data-figure="${name}"] svg`);
  const size = element => {
    if (!element) return null;
    const box = element.getBoundingClientRect();
    return [box.width, box.height, element.querySelectorAll("path, text").length];
  };
  const small = new Map();  // texts that are seen, by the size that they are seen in
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), parent = walker.currentNode.parentElement;
    if (!text || parent.closest("script, style, title, noscript, .unseen") || !parent.getClientRects().length) continue;
    const matrix = parent.getScreenCTM ? parent.getScreenCTM() : null;
    const px = parseFloat(getComputedStyle(parent).fontSize) * (matrix ? Math.hypot(matrix.a,
        matrix.b) : 1);
    if (px < SMALLEST - 0.05) small.set(text, px);
  }
  return {inner: innerWidth, small: [...small].slice(0, 5),
      scroll: document.documentElement.scrollWidth,
          dark: matchMedia("(prefers-color-scheme: dark)").matches,
          paper: getComputedStyle(document.body).backgroundColor,
          ink: getComputedStyle(document.body).color,
          figures: Object.fromEntries(NAMES.map(name => [name, size(of(name))]))};
})()"""


class Browser:
    def __init__(self, program, profile):
        to_browser, self.out = os.pipe()
        self.input, from_browser = os.pipe()

        def places():  # where --remote-debugging-pipe looks for them
            ends = os.dup(to_browser), os.dup(from_browser)  # they may be 3 and 4 themselves
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=places, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.last, self.events = b"", 0, []

    def message(self):
        while b"\0" not in self.buffer:
            some = os.read(self.input, 1 << 16)
            if not some:
                sys.exit("Chromium ended before it had answered")
            self.buffer += some
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **parameters):
        self.last += 1
        request = {"id": self.last, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.last:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def until(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message())


def complaints_of_events(events, address):
    found = []
    for event in events:
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            said = details.get("exception", {}).get("description", details.get("text"))
            found.append(f"exception: {said}")
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning",
            "assert"):
            found.append(f"console: {[a.get('value') for a in what['args']]}")
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            found.append(f"console: {what['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            url = what["request"]["url"]
            if url.split("#")[0] != address and not url.startswith("data:"):
                found.append(f"request: {url}")
    return found


def become(browser, session, width, dark):
    """A screen of that width."""
    browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=900,
                 deviceScaleFactor=1, mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", session, features=[
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])


def look(browser, session, address, figures, width, dark):
    call = browser.call
    become(browser, session, width, dark)
    browser.events.clear()
    call("Page.navigate", session, url=address)
    browser.until("Page.loadEventFired")
    seen = call("Runtime.evaluate", session, returnByValue=True,
                expression=LOOK.replace("NAMES", json.dumps(figures))
                .replace("SMALLEST", str(SMALLEST_PX)))["result"]["value"]
    found = complaints_of_events(browser.events, address)
    if seen["inner"] != width:
        found.append(f"laid out for {seen['inner']} px")
    if seen["scroll"] > seen["inner"]:
        found.append(f"scrolls sideways: {seen['scroll']} px wide")
    found += [f"letters of {px:.1f} px: {text[:40]}" for text, px in seen["small"]]
    if seen["dark"] != dark:
        found.append("the colour scheme was not followed")
    for name, size in seen["figures"].items():
        if size is None:
            found.append(f"figure {name} is not there")
        elif size[0] < 300 or size[1] < 60 or size[2] < 3:
            found.append(f"figure {name} is {size[0]:.0f} x {size[1]:.0f} px with {size[2]} marks")
    return found, (seen["paper"], seen["ink"])


@contextlib.contextmanager
def opened(program):
    """A browser with one page: the browser, and the session of the page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            session = browser.call("Target.attachToTarget", targetId=target,
                                   flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(f"{domain}.enable", session)
            yield browser, session
        finally:
            browser.process.kill()
            browser.process.wait()


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    program, page, *figures = arguments
    address = pathlib.Path(page).resolve().as_uri()
    wrong = []
    with opened(program) as (browser, session):
        for width in WIDTHS:
            colours = []
            for dark in (False, True):
                found, colour = look(browser, session, address, figures, width, dark)
                colours.append(colour)
                wrong += [f"{width} px, {'dark' if dark else 'light'}: {one}" for one in found]
            if colours[0] == colours[1]:
                wrong.append(f"{width} px: light and dark look the same")
    print("\n".join(wrong) or f"{len(figures)} figures at {WIDTHS} px, light and dark: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
