# SPDX-License-Identifier: Apache-2.0
"""A stripped program whose debug information is on a debuginfod server: the finding has the
source's lines if the user wants that, and otherwise the server gets no request.

Takes the shim, a driver and a program with debug information that misuses cuMemMap."""

import ctypes
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

SHIM, DRIVER, PROGRAM = sys.argv[1:4]
SKIPPED = 77


class Server(http.server.BaseHTTPRequestHandler):
    debug, build_id = b"", ""
    asked: list[str] = []

    def do_GET(self):  # noqa: N802 (the base class's name)
        Server.asked.append(self.path)
        found = self.path == f"/buildid/{Server.build_id}/debuginfo"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(Server.debug) if found else 0))
        self.end_headers()
        if found:
            self.wfile.write(Server.debug)

    def log_message(self, *_):
        pass


def finding(program: pathlib.Path, **more: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "DEBUGINFOD_")) and "proxy" not in k.lower()}
    env |= {"LD_PRELOAD": SHIM, "CUVMM_DRIVER": DRIVER, **more}
    run = subprocess.run([str(program)], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "cuMemMap-offset-zero" in run.stderr, run.stderr
    return run.stderr


def main() -> int:
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        print("skipped: no libdebuginfod.so.1")
        return SKIPPED
    if not shutil.which("objcopy") or not shutil.which("readelf"):
        print("skipped: no objcopy or readelf")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="cuvmm-debuginfod-") as folder:
        program, debug = pathlib.Path(folder, "program"), pathlib.Path(folder, "program.debug")
        subprocess.run(["objcopy", "--only-keep-debug", PROGRAM, str(debug)], check=True)
        subprocess.run(["objcopy", "--strip-all", PROGRAM, str(program)], check=True)
        notes = subprocess.run(["readelf", "-n", str(program)], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)
        if not build_id:
            print("skipped: the program has no build id")
            return SKIPPED
        Server.debug, Server.build_id = debug.read_bytes(), build_id.group(1)
        debug.unlink()  # beside the program, the symbolizer would find the file
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            user = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}", "DEBUGINFOD_CACHE_PATH": os.path.join(folder, "cache")}
            text = finding(program, **user)
            assert "linked.cc:" not in text and not Server.asked, (text, Server.asked)
            text = finding(program, **user, CUVMM_DEBUGINFOD="1")
            server.shutdown()
        assert Server.asked, "nobody asked the server"
        assert "linked.cc:" in text, (text, Server.asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
