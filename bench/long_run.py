#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of recording a very long run: memory, files, and the page that shows the run.

bench/long_run.py BUILD [CALLS]: on the emulator; CALLS is 10 million by default. If there is a
Chromium, also prints how long the page takes to load.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def watch_files(folder, seen, done):
    while not done.wait(0.2):
        for path in Path(folder).rglob("*.timeline"):
            try:
                seen["file"] = max(seen.get("file", 0), path.stat().st_blocks * 512)
            except OSError:
                pass


def timed(command, **options):
    began = time.monotonic()
    result = subprocess.run(command, check=True, **options)
    return result, time.monotonic() - began


def peak_of_children():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def record(cuvmm, bench, calls, folder, options):
    seen, done = {}, threading.Event()
    watcher = threading.Thread(target=watch_files, args=(folder, seen, done))
    watcher.start()
    try:
        run, seconds = timed([cuvmm, "run", "--emulate", *options, "--", bench, "--driver", "libcuda.so.1", "--long", str(calls)],
                             env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True)
    finally:
        done.set()
        watcher.join()
    print(f"cuvmm run{' --timeline' if options else ''}: {seconds:.1f} s; the program says:")
    print("    " + run.stdout.strip().replace("\n", "\n    "))
    return seen.get("file", 0)


def load(page):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools/view/page"))
    import browser  # pylint: disable=import-outside-toplevel
    if browser.CHROMIUM is None:
        print("no Chromium here: the page was not loaded")
        return
    with browser.Browser() as one:
        for _ in range(3):
            began = time.monotonic()
            one.open(page)
            print(f"the page was loaded after {time.monotonic() - began:.2f} s, of that "
                  f"{one.evaluate('document.body.dataset.ready')} ms in its script")


def main(build, calls):
    cuvmm, bench = f"{build}/bin/cuvmm", f"{build}/bin/cuvmm-bench"
    with tempfile.TemporaryDirectory(prefix="cuvmm-long-") as folder:
        report, page = f"{folder}/run.json", f"{folder}/run.html"
        record(cuvmm, bench, calls, folder, [])
        print(f"peak memory of all processes of that: {peak_of_children():.0f} MiB")
        file_bytes = record(cuvmm, bench, calls, folder, ["--timeline", "--report", report])
        print(f"the recorded file: {file_bytes / 1e6:.1f} MB; peak memory of the largest process: {peak_of_children():.0f} MiB")
        _, seconds = timed([cuvmm, "view", report, "-o", page])
        print(f"cuvmm view: {seconds:.1f} s; the report has {os.path.getsize(report) / 1e6:.1f} MB, "
              f"the page {os.path.getsize(page) / 1e6:.1f} MB")
        with open(report, encoding="utf-8") as file:
            content = json.load(file)
        process = content["timeline"]["processes"][0]
        print(f"of {process['events']} events: {len(process['objects'])} objects, {len(process['access'])} changes of access, "
              f"{len(process['samples'])} samples; left out: {process['left_out']}")
        for note in content["notes"]:
            print(f"    note: {note}")
        load(page)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 10_000_000)
