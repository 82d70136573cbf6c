# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's memory viewer in a headless browser, with local copies of the files that it loads from the web.

`torch_viewer.py SNAPSHOT PICTURE.png --viewer FOLDER --d3 FOLDER [--view NUMBER] [--at X,Y]` takes a picture of a
snapshot; the mouse points at X,Y. Needs PyTorch, whose trace_plot writes the page.
--viewer: torch/utils/viz of PyTorch's source, with MemoryViz.js. --d3: where d3, d3-axis, d3-zoom, ... lie, each with
its package.json. docs/view/viewers.md says which ones were used.
"""
import argparse
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
import browser  # noqa: E402

VIEWER = re.compile(r"https://cdn\.jsdelivr\.net/gh/pytorch/pytorch@main/torch/utils/viz/(\w+\.js)")
D3 = re.compile(r"https://cdn\.(?:skypack\.dev|jsdelivr\.net/npm)/([a-z0-9-]+)(?:@\d+)?(?:/\+esm)?(/.*)?")


class TorchViewer(browser.Browser):
    def __init__(self, viewer, d3, width=1280, height=900):
        self.viewer, self.d3, self.missing = viewer, d3, []
        super().__init__(width, height)
        self.look(width, height)
        self.call("Fetch.enable", patterns=[{"urlPattern": "https://*"}])

    def content(self, url):
        """The content of a file: unchanged for the viewer; for d3, with local addresses of its parts. None: no such file."""
        if found := VIEWER.fullmatch(url):
            return self.read(self.viewer, found[1])
        if not (found := D3.fullmatch(url)):
            return None
        package, file = found.groups()
        if file is None:
            about = json.loads(self.read(self.d3, package, "package.json") or "{}")
            # One module for each part, so that the parts can import each other.
            return f'export * from "https://cdn.skypack.dev/{package}/{about.get("module", "index.js")}";'
        names = (file, file + ".js", file + "/index.js")
        text = next(filter(None, (self.read(self.d3, package, name.lstrip("/")) for name in names)), None)
        return text and re.sub(r'from "([a-z][a-z0-9-]*)"', r'from "https://cdn.skypack.dev/\1"', text)

    @staticmethod
    def read(*path):
        path = os.path.join(*path)
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read()

    def message(self):
        message = super().message()
        if message.get("method") == "Fetch.requestPaused":
            self.answer(message["params"]["requestId"], message["params"]["request"]["url"])
        return message

    def answer(self, request, url):
        text = self.content(url)
        if text is None:
            self.missing.append(url)
            return self.send("Fetch.failRequest", requestId=request, errorReason="NameNotResolved")
        headers = {"content-type": "text/javascript", "access-control-allow-origin": "*"}
        return self.send("Fetch.fulfillRequest", requestId=request, responseCode=200,
                         responseHeaders=[{"name": name, "value": value} for name, value in headers.items()],
                         body=base64.b64encode(text.encode()).decode())

    def send(self, method, **parameters):
        self.number += 1
        text = json.dumps({"id": self.number, "method": method, "params": parameters, "sessionId": self.session}).encode() + b"\0"
        while text:
            text = text[os.write(self.out, text):]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("snapshot")
    parser.add_argument("picture")
    parser.add_argument("--viewer", required=True)
    parser.add_argument("--d3", required=True)
    parser.add_argument("--view", type=int, default=0)
    parser.add_argument("--at", action="append", default=[])
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, TorchViewer(wanted.viewer, wanted.d3, 1200, 700) as page:
        plot = os.path.join(folder, "plot.html")
        subprocess.run([sys.executable, "-W", "ignore", "-m", "torch.cuda._memory_viz", "trace_plot", wanted.snapshot, "-o", plot], check=True)
        page.open(plot)
        # A module draws the picture, and may be loaded after the page.
        for _ in range(100):
            if page.evaluate("document.querySelectorAll('svg, option').length > 4"):
                break
            time.sleep(0.1)
        page.evaluate(f"""(() => {{ const views = document.querySelectorAll('select')[1];
          views.selectedIndex = {wanted.view}; views.dispatchEvent(new Event('change')); }})()""")
        for point in wanted.at:
            x, y = map(float, point.split(","))
            page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        time.sleep(1)
        page.picture(wanted.picture)
        print("\n".join(page.complaints() + ["not here: " + url for url in page.missing]), end="")


if __name__ == "__main__":
    main()
