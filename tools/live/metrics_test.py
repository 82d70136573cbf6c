# SPDX-License-Identifier: Apache-2.0
"""cuvmm top --metrics, read as Prometheus reads it, on processes that live on the emulator.

Usage: metrics_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place. By a Python
that has tools/view/requirements.txt.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import live_test  # noqa: E402
from live_test import HOLDS, Client, LiveTest  # noqa: E402

try:
    from prometheus_client.openmetrics import parser as openmetrics
    from prometheus_client.parser import text_string_to_metric_families as older
except ImportError:
    openmetrics = None


@unittest.skipUnless(openmetrics, "needs prometheus-client")
class Metrics(LiveTest):
    def read(self, text):
        """{(name, labels...): value}; both of Prometheus' formats have the same."""
        both = [{(sample.name, *sorted(sample.labels.items())): sample.value
                 for family in families for sample in family.samples}
                for families in (openmetrics.text_string_to_metric_families(text), older(text))]
        self.assertEqual(*both)
        return both[0]

    def of(self, read, name, **labels):
        """The values of a family's samples that have these labels."""
        return {tuple(sorted(dict(key[1:]).items() - labels.items())): value for key, value in read.items()
                if key[0] == name and labels.items() <= dict(key[1:]).items()}

    def expect_holds(self, read, pid, unmapped):
        program = self.of(read, "cuvmm_reserved_bytes", pid=str(pid))
        self.assertEqual(list(program.values()), [8 << 20])
        states = {dict(key)["state"]: value for key, value in self.of(read, "cuvmm_memory_bytes", pid=str(pid), device="0").items()}
        self.assertEqual(states, {"mapped": (8 << 20) - unmapped, "unmapped": unmapped, "device": 12345})
        created = self.of(read, "cuvmm_creator_memory_bytes", device="0")
        self.assertEqual(sum(created.values()), (8 << 20) + 12345)
        kinds = {dict(key)["kind"]: value for key, value in self.of(read, "cuvmm_objects", pid=str(pid)).items()}
        self.assertEqual((kinds["reservation"], kinds["allocation"], kinds["plain"], kinds["ipc"]), (1, 3, 1, 0))
        self.assertEqual(set(self.of(read, "cuvmm_missed_objects").values()), {0})

    def test_on_stdout_and_in_a_file(self):
        client = Client(self, HOLDS)
        self.expect_holds(self.read(self.look("top", "--metrics")), client.pid, 4 << 20)
        client.say()
        file = pathlib.Path(self.folder, "cuvmm.prom")
        self.assertEqual(self.look("top", "--metrics", "--textfile", str(file)), "")
        self.expect_holds(self.read(file.read_text()), client.pid, 6 << 20)
        self.assertEqual(sorted(os.listdir(self.folder)), ["cuvmm.prom", "live"])

    def test_none_is_a_number(self):
        os.mkdir(self.live)
        self.assertEqual(self.read(self.look("top", "--metrics"))["cuvmm_processes",], 0)

    def test_over_http(self):
        client = Client(self, HOLDS)
        server = subprocess.Popen([live_test.CUVMM, "top", "--metrics", "--listen", "127.0.0.1:0", "--folder", self.live],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        address = re.fullmatch(r"cuvmm top: (http://127\.0\.0\.1:\d+)/metrics\n", server.stderr.readline())[1]
        for accept, kind in (("application/openmetrics-text;version=1.0.0", "application/openmetrics-text"),
                             ("text/plain", "text/plain")):
            request = urllib.request.Request(address + "/metrics", headers={"Accept": accept})
            with urllib.request.urlopen(request, timeout=60) as answer:
                self.assertEqual(answer.headers.get_content_type(), kind)
                self.expect_holds(self.read(answer.read().decode()), client.pid, 4 << 20)
        with self.assertRaises(urllib.error.HTTPError) as missing:
            urllib.request.urlopen(address + "/", timeout=60)
        self.assertEqual(missing.exception.code, 404)
        missing.exception.close()
        # A client that says nothing whole does not end the server.
        with socket.create_connection(address[7:].split(":"), timeout=60) as other:
            other.sendall(b"GET /metr")
        client.say()
        with urllib.request.urlopen(address + "/metrics", timeout=60) as answer:
            self.expect_holds(self.read(answer.read().decode()), client.pid, 6 << 20)

    def test_usage(self):
        for options in (["--textfile", "x"], ["--listen", "127.0.0.1:0"], ["--metrics", "--json"],
                        ["--metrics", "--listen", "nowhere"], ["--metrics", "--listen", "127.0.0.1:0", "--textfile", "x"]):
            done = subprocess.run([live_test.CUVMM, "top", *options], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 2, (options, done.stderr))


if __name__ == "__main__":
    live_test.CUVMM, live_test.SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
