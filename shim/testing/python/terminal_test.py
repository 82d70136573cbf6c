# SPDX-License-Identifier: Apache-2.0
"""Findings on a terminal: colours, lines that fit, and only a few findings of each rule. Takes the
shim and a driver."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

SHIM, DRIVER = sys.argv[1:3]
PROGRAM = pathlib.Path(__file__).with_name("frames.py")  # its case `reuse` has one mistake at 20 places
COLUMNS = 70
COLOR = re.compile(r"\x1b\[[0-9;]*m")
FINDING = re.compile(r"^cuvmm: error: cuMemMap", re.MULTILINE)


def environment(settings: dict[str, str]) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVMM_") and k != "NO_COLOR"}
    # Symbols take time, and this test does not need them.
    return env | {"TERM": "xterm", "LD_PRELOAD": SHIM, "CUVMM_DRIVER": DRIVER, "CUVMM_NO_SYMBOLS": "1"} | settings


def on_terminal(**settings: str) -> str:
    controller, terminal_end = pty.openpty()
    fcntl.ioctl(terminal_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    program = subprocess.Popen([sys.executable, str(PROGRAM), "reuse"], env=environment(settings), stderr=terminal_end)
    os.close(terminal_end)
    text = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # the other side is closed
            part = b""
        if not part:
            break
        text += part
    os.close(controller)
    assert program.wait(60) == 0
    return text.decode().replace("\r\n", "\n")


def in_pipe(**settings: str) -> str:
    run = subprocess.run([sys.executable, str(PROGRAM), "reuse"], env=environment(settings), capture_output=True,
                         text=True, timeout=60, check=True)
    return run.stderr


class Terminal(unittest.TestCase):
    def test_colours_width_and_limit(self) -> None:
        text = on_terminal()
        self.assertIn("\x1b[1;31mcuvmm: error:\x1b[0m cuMemMap", text)
        plain = COLOR.sub("", text)
        unbroken = re.sub(r"\n +", " ", plain)
        self.assertEqual(len(FINDING.findall(plain)), 10)
        self.assertEqual(unbroken.count("more findings of cuMemMap-offset-zero are not printed (--limit 10)"), 1)
        for line in plain.splitlines():
            self.assertTrue(len(line) <= COLUMNS or len(line.split()) == 1, line)
        self.assertEqual(unbroken.count("fix: Pass 0 and create"), 1)  # said once
        self.assertIn("20 calls checked: 20 errors", unbroken)

    def test_no_colour_where_none_is_wanted(self) -> None:
        for settings in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"CUVMM_COLOR": "never"}):
            self.assertNotIn("\x1b", on_terminal(**settings), settings)

    def test_a_pipe_has_all_of_it_as_it_is(self) -> None:
        text = in_pipe()
        self.assertNotIn("\x1b", text)
        self.assertEqual(len(FINDING.findall(text)), 20)
        self.assertNotIn("--limit", text)
        self.assertEqual(text.count("fix: Pass 0 and create"), 20)
        coloured = in_pipe(CUVMM_COLOR="always", NO_COLOR="1")
        self.assertIn("\x1b[1;31m", coloured)
        addresses = re.compile(r"\+0x[0-9a-f]+|0x[0-9a-f]+")
        self.assertEqual(addresses.sub("", COLOR.sub("", coloured)), addresses.sub("", text))

    def test_a_limit(self) -> None:
        self.assertEqual(len(FINDING.findall(in_pipe(CUVMM_LIMIT="3"))), 3)
        self.assertEqual(len(FINDING.findall(COLOR.sub("", on_terminal(CUVMM_LIMIT="0")))), 20)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
