# SPDX-License-Identifier: Apache-2.0
"""cuvmm top, map and leaks, and leaks on request, on processes that live on the emulator.

Usage: live_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import unittest

CUVMM, SOURCE = None, None

# Each program of these tests begins with this: the driver's calls, and a way to wait for the test.
PRELUDE = """
import array, ctypes, os, socket, sys
cuda = ctypes.CDLL("libcuda.so.1")
U64, SIZE, INT = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int
M = 1 << 20
class Location(ctypes.Structure):
    _fields_ = [("type", INT), ("id", INT)]
class Prop(ctypes.Structure):
    _fields_ = [("type", INT), ("handles", INT), ("location", Location), ("win32", ctypes.c_void_p),
                ("flags", ctypes.c_ubyte * 8), ("more", U64 * 8)]
class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", INT)]
class Blob(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]
def must(result):
    assert result == 0, result
def start():
    must(cuda.cuInit(0))
    context = ctypes.c_void_p()
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(cuda.cuCtxSetCurrent(context))
def create(size):
    prop, handle = Prop(type=1, handles=1, location=Location(1, 0)), U64()
    must(cuda.cuMemCreate(ctypes.byref(handle), SIZE(size), ctypes.byref(prop), U64(0)))
    return handle
def reserve(size):
    base = U64()
    must(cuda.cuMemAddressReserve(ctypes.byref(base), SIZE(size), SIZE(0), U64(0), U64(0)))
    return base.value
def map_at(base, size, handle):
    must(cuda.cuMemMap(U64(base), SIZE(size), SIZE(0), handle, U64(0)))
def allow(base, size):
    access = Access(Location(1, 0), 3)
    must(cuda.cuMemSetAccess(U64(base), SIZE(size), ctypes.byref(access), SIZE(1)))
def export(handle):
    fd = INT()
    must(cuda.cuMemExportToShareableHandle(ctypes.byref(fd), handle, INT(1), U64(0)))
    return fd.value
def import_(fd):
    handle = U64()
    must(cuda.cuMemImportFromShareableHandle(ctypes.byref(handle), ctypes.c_void_p(fd), INT(1)))
    return handle
def tell(*words):
    print(*words, flush=True)
    line = sys.stdin.readline()
    if not line:
        sys.exit()  # the test is over
    return line.strip()
"""


class Client:
    """A program under cuvmm run that says a line and waits for one."""

    def __init__(self, test, body, *options, **more):
        self.process = subprocess.Popen(
            [CUVMM, "run", "--emulate", "--live", test.live, *options, "--", sys.executable, "-c", PRELUDE + body],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        test.addCleanup(self.end)
        words = self.hear()
        self.pid = int(words[0])
        self.words = words[1:]

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the program ended: " + self.process.communicate()[1])
        return line.split()

    def say(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.hear()

    def end(self):
        """Lets the program go on to its end; what it and cuvmm said on stderr."""
        if self.process.stdout.closed:
            return ""
        try:
            return self.process.communicate("\n" * 9, timeout=60)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class LiveTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cuvmm-live-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.live = os.path.join(self.folder, "live")

    def cuvmm(self, *arguments, status=0):
        result = subprocess.run([CUVMM, *arguments], capture_output=True, text=True, timeout=100)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def look(self, command, *arguments, **more):
        return self.cuvmm(command, *arguments, "--folder", self.live, **more)

    def json(self, command, *arguments, **more):
        return json.loads(self.look(command, *arguments, "--json", **more))

    def files(self):
        return os.listdir(self.live)


HOLDS = """
start()
base = reserve(8 * M)
held = create(2 * M)
map_at(base, 2 * M, held)
allow(base, 2 * M)
map_at(base + 4 * M, 2 * M, create(2 * M))
unused = create(4 * M)
plain = U64()
must(cuda.cuMemAlloc_v2(ctypes.byref(plain), SIZE(12345)))
tell(os.getpid(), hex(base))
must(cuda.cuMemUnmap(U64(base), SIZE(2 * M)))
tell("unmapped")
"""


class Top(LiveTest):
    def test_sums_of_a_process_that_lives(self):
        client = Client(self, HOLDS)
        row = self.json("top")["processes"][0]
        self.assertEqual(row["pid"], client.pid)
        self.assertEqual(row["reservations"], {"count": 1, "bytes": 8 << 20})
        self.assertEqual(row["mappings"], {"count": 2, "bytes": 4 << 20})
        self.assertEqual(row["allocations"], {"count": 3, "mapped": 4 << 20, "unmapped": 4 << 20})
        self.assertEqual(row["plain"], {"count": 1, "bytes": 12345})
        client.say()
        row = self.json("top")["processes"][0]
        self.assertEqual(row["mappings"], {"count": 1, "bytes": 2 << 20})
        self.assertEqual(row["allocations"], {"count": 3, "mapped": 2 << 20, "unmapped": 6 << 20})

    def test_a_table_fits_a_terminal_of_80_columns_and_a_pipe(self):
        client = Client(self, HOLDS)
        text = self.look("top", "--count", "2", "--interval", "0.05")
        self.assertNotIn("\x1b", text)
        self.assertEqual(text.count("RESERVED"), 2)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertRegex(text, rf"{client.pid} python\S* +8M +4M +4M")

    def test_keys_at_a_terminal(self):
        client = Client(self, """
start()
create(2 * M)
tell(os.getpid())
create(4 * M)
tell("grown")
""")
        controller, terminal_end = pty.openpty()
        self.addCleanup(os.close, controller)
        before = termios.tcgetattr(terminal_end)
        top = subprocess.Popen([CUVMM, "top", "--folder", self.live, "--interval", "0.05"], stdin=terminal_end, stdout=terminal_end,
                               start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(lambda: top.poll() is None and top.kill())
        seen = ""

        def until(pattern):
            nonlocal seen
            seen = ""
            deadline = time.monotonic() + 60
            while not re.search(pattern, seen):
                self.assertLess(time.monotonic(), deadline, seen)
                seen += os.read(controller, 65536).decode()

        row = rf"{client.pid} python\S*.* "
        until(row + r"0\r")
        self.assertTrue(all(len(line) <= 80 for line in re.sub(r"\x1b\[[HJ]", "", seen).splitlines()), seen)
        self.assertIn("m: mark", seen)
        client.say()
        until(row + r"\+4M\r")
        os.write(controller, b"m")
        until(row + r"0\r")
        os.write(controller, b"q")
        self.assertEqual(top.wait(timeout=60), 0)
        self.assertEqual(termios.tcgetattr(terminal_end), before)  # the terminal is as it was
        os.close(terminal_end)

    def test_only_a_tree(self):
        client = Client(self, HOLDS)
        other = Client(self, HOLDS)
        pids = [row["pid"] for row in self.json("top")["processes"]]
        self.assertCountEqual(pids, [client.pid, other.pid])
        inside = self.json("top", "--tree", str(client.process.pid))["processes"]
        self.assertEqual([row["pid"] for row in inside], [client.pid])

    def test_a_process_that_ends_or_is_killed_leaves_nothing(self):
        client = Client(self, HOLDS)
        killed = Client(self, HOLDS)
        self.assertEqual(len(self.files()), 2)
        client.end()
        self.assertEqual(len(self.files()), 1)
        os.kill(killed.pid, signal.SIGKILL)
        killed.process.wait(timeout=60)
        self.assertEqual(self.json("top")["processes"], [])
        self.assertEqual(self.files(), [])

    def test_a_child_of_fork_has_a_file_of_its_own(self):
        client = Client(self, """
read, write = os.pipe()
child = os.fork()
start()
create(6 * M if child == 0 else 2 * M)
if child == 0:
    os.read(read, 1)
    tell(os.getpid(), os.getppid())
else:
    os.write(write, b"x")
    os.waitpid(child, 0)
""")
        rows = {row["pid"]: row["allocations"]["unmapped"] for row in self.json("top")["processes"]}
        self.assertEqual(rows, {client.pid: 6 << 20, int(client.words[0]): 2 << 20})

    def test_off_shows_nothing_and_a_folder_of_others_is_refused(self):
        quiet = subprocess.run([CUVMM, "run", "--emulate", "--live", "off", "--", sys.executable, "-c", PRELUDE +
                                "start(); create(2 * M); print(os.environ['CUVMM_LIVE'])"],
                               capture_output=True, text=True, timeout=60)
        self.assertIn("off", quiet.stdout)
        os.mkdir(self.live)
        os.chmod(self.live, 0o777)
        refused = subprocess.run([CUVMM, "run", "--emulate", "--live", self.live, "--", "true"],
                                 capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 125)
        self.assertIn("others may write in it", refused.stderr)

    def test_nobody_there_is_reported(self):
        self.assertIn("No process lists its objects", self.look("top", "--once"))
        missing = subprocess.run([CUVMM, "map", "1", "--folder", self.live], capture_output=True, text=True, timeout=60)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("process 1 shows nothing", missing.stderr)


class Map(LiveTest):
    def test_mappings_holes_access_and_what_nothing_maps(self):
        client = Client(self, HOLDS)
        text = self.look("map", str(client.pid))
        base = int(client.words[0], 16)
        def span(at, size):
            return f"{base + at:#x}-{base + at + size:#x}"
        m = 1 << 20
        self.assertIn(f"{span(0, 8 * m)}  reserved: 8 MiB, 4 MiB of it mapped", text)
        self.assertIn(f"{span(0, 2 * m)}  2 MiB of memory of device 0, access: device 0 rw", text)
        self.assertIn(f"{span(2 * m, 2 * m)}  nothing", text)
        self.assertIn(f"{span(4 * m, 2 * m)}  2 MiB of memory of device 0, access: nobody", text)
        self.assertIn("4 MiB of memory of device 0, mapped nowhere, 1 reference", text)
        self.assertIn("of cuMemAlloc", text)
        drawn = self.json("map", str(client.pid))
        self.assertEqual([len(drawn[part]) for part in ("reservations", "mappings", "allocations", "pieces")],
                         [1, 2, 3, 1])

    def test_mappings_alike_are_one_line(self):
        client = Client(self, """
start()
base = reserve(64 * M)
for i in range(32):
    handle = create(2 * M)
    map_at(base + i * 2 * M, 2 * M, handle)
    must(cuda.cuMemRelease(handle))
allow(base, 64 * M)
tell(os.getpid())
""")
        self.assertIn("32 x 2 MiB of memory of device 0, access: device 0 rw", self.look("map", str(client.pid)))
        self.assertEqual(self.look("map", str(client.pid), "--all").count("  2 MiB of"), 32)


    def test_a_multicast_object_and_who_is_in_it(self):
        client = Client(self, """
start()
class Team(ctypes.Structure):
    _fields_ = [("devices", ctypes.c_uint), ("size", SIZE), ("handles", U64), ("flags", U64)]
team, made = U64(), Team(2, 4 * M, 1, 0)
must(cuda.cuMulticastCreate(ctypes.byref(team), ctypes.byref(made)))
must(cuda.cuMulticastAddDevice(team, INT(0)))
tell(os.getpid())
must(cuda.cuMulticastAddDevice(team, INT(1)))
must(cuda.cuMulticastBindMem(team, SIZE(0), create(4 * M), SIZE(0), SIZE(4 * M), U64(0)))
tell("bound")
must(cuda.cuMulticastUnbind(team, INT(0), SIZE(0), SIZE(4 * M)))
must(cuda.cuMemRelease(team))
tell("gone")
""")
        pid = str(client.pid)
        self.assertRegex(self.look("map", pid), r"multicast object 0x\w+  4 MiB for 2 devices, device 0 added; "
                                                r"nothing of this process bound in 0 bindings")
        client.say()
        team, = self.json("map", pid)["teams"]
        self.assertEqual((team["added"], team["bindings"], team["bound"]), (2, 1, 4 << 20))
        client.say()
        self.assertEqual(self.json("map", pid)["teams"], [])


GIVES_UP = """
start()
def sleeps():
    base = reserve(2 * M)
    handle = create(2 * M)
    map_at(base, 2 * M, handle)
    must(cuda.cuMemUnmap(U64(base), SIZE(2 * M)))
    must(cuda.cuMemAddressFree(U64(base), SIZE(2 * M)))
    return handle
handle = sleeps()
while tell(os.getpid()) != "mend":
    sleeps()
    if os.environ.get("ASK"):
        tell("leaks", cuda.cuvmmLeaks())
must(cuda.cuMemRelease(handle))
tell("mended")
"""


class Leaks(LiveTest):
    def test_what_is_given_up_is_named_while_the_program_runs(self):
        client = Client(self, GIVES_UP)
        text = self.look("leaks", str(client.pid), status=1)
        self.assertIn("cuMemCreate-released: ", text)
        found = self.json("leaks", str(client.pid), status=1)
        self.assertEqual([leak["rule"] for leak in found["leaks"]], ["cuMemCreate-released"])
        client.say("mend")
        self.assertEqual(self.json("leaks", str(client.pid))["leaks"], [])

    def python_line(self, program, statement):
        """The one line of a program that has this statement."""
        line, = [i for i, text in enumerate((PRELUDE + program).split("\n"), 1) if statement in text]
        return line

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_what_the_kernel_hides_is_reported(self):
        client = Client(self, GIVES_UP)
        # With fewer capabilities than the process has. One of another group in its container sees as little.
        hidden = subprocess.run(["setpriv", "--bounding-set=-all", CUVMM, "leaks", str(client.pid), "--folder", self.live],
                                capture_output=True, text=True, timeout=60)
        self.assertIn("cuMemCreate-released", hidden.stdout)
        self.assertIn(f"cuvmm leaks: /proc/{client.pid}/maps: Permission denied. So native functions have no names", hidden.stderr)
        seen = subprocess.run([CUVMM, "leaks", str(client.pid), "--folder", self.live], capture_output=True, text=True, timeout=60)
        self.assertEqual(seen.stderr, "")

    def test_the_lines_of_python_are_named(self):
        client = Client(self, GIVES_UP)
        create = f"create at <string>:{self.python_line('', 'must(cuda.cuMemCreate(')} (Python)"
        sleeps = f"sleeps at <string>:{self.python_line(GIVES_UP, '    handle = create(2 * M)')} (Python)"
        main = f"<module> at <string>:{self.python_line(GIVES_UP, 'handle = sleeps()')} (Python)"
        text = self.look("leaks", str(client.pid), status=1)
        found = self.json("leaks", str(client.pid), status=1)["leaks"][0]["objects"][0]["stack"]
        for lines in (text.splitlines(), found):
            frames = [line.split(" ", 1)[1] for line in map(str.strip, lines) if line.endswith("(Python)")]
            self.assertEqual(frames, [create, sleeps, main])
        # The interpreter's own frames are in the document only.
        self.assertNotRegex(text, r"\n +#\d+ .*\((python|libpython|_ctypes|libffi)")
        self.assertRegex("\n".join(found), r"\((python|libpython|_ctypes|libffi)")

    def test_what_grows_is_told_by_the_line_of_python(self):
        program = """
start()
base = reserve(2 * M)
tell(os.getpid())
for i in range(3):
    create(2 * M)
create(4 * M), create(4 * M)
tell("made")
"""
        client = Client(self, program)
        mark = str(self.json("leaks", str(client.pid))["mark"])
        client.say()
        grown = self.json("leaks", str(client.pid), "--since", mark, status=1)["grown"]
        self.assertEqual([(each["count"], each["bytes"]) for each in grown], [(2, 8 << 20), (3, 6 << 20)])
        for each, statement in zip(grown, ("create(4 * M)", "    create(2 * M)")):
            line = f"<module> at <string>:{self.python_line(program, statement)} (Python)"
            self.assertEqual([frame.endswith(line) for frame in each["stack"]].count(True), 1, each["stack"])

    def test_without_frames_of_python_the_interpreters_own_are_shown(self):
        client = Client(self, GIVES_UP, env={**os.environ, "CUVMM_NO_PYTHON_FRAMES": "1"})
        text = self.look("leaks", str(client.pid), status=1)
        self.assertNotIn("(Python)", text)
        self.assertRegex(text, r"#0 .*libffi")

    def test_without_a_mark_the_places_that_hold_most_come_first(self):
        client = Client(self, """
start()
def plain(size):
    memory = U64()
    must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(size)))
def frame():
    plain(3 * M)
for i in range(5):
    frame()
plain(64 * M)
for i in range(4):
    plain(M)
tell(os.getpid())
""")
        text = self.look("leaks", str(client.pid))
        places = re.findall(r"^(\d+ pieces? of .*)$", text, re.M)
        self.assertEqual(places, ["5 pieces of cuMemAlloc, 15 MiB from one place, all still there (calls 1 to 5)",
                                  "4 pieces of cuMemAlloc, 4 MiB from one place, all still there (calls 7 to 10)"])
        self.assertLess(text.index("5 pieces"), text.index("Nothing is given up and still pinned."))
        held = self.json("leaks", str(client.pid))
        self.assertEqual([one["count"] for one in held["held"]], [1, 5, 4])
        self.assertEqual(held["grown"], [])

    def test_a_place_that_grows_comes_before_one_that_only_holds_much(self):
        client = Client(self, """
start()
def plain(size):
    memory = U64()
    must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(size)))
    return memory
def load():
    for i in range(10):
        plain(16 * M)
def frame():
    plain(M)
cache = []
load()
for i in range(30):
    frame()
    cache.append(plain(2 * M))
    if len(cache) > 9:
        must(cuda.cuMemFree_v2(cache.pop(0)))
tell(os.getpid())
""")
        places = re.findall(r"^(\d+ pieces? of .*)$", self.look("leaks", str(client.pid)), re.M)
        self.assertEqual(places, ["30 pieces of cuMemAlloc, 30 MiB from one place, all still there (calls 11 to 89, and the place goes on making them)",
                                  "10 pieces of cuMemAlloc, 160 MiB from one place, all still there (calls 1 to 10)",
                                  "9 pieces of cuMemAlloc, 18 MiB from one place, all still there (calls 66 to 90)"])
        self.assertEqual([one["grows"] for one in self.json("leaks", str(client.pid))["held"]], [True, False, False])

    def test_a_file_that_somebody_emptied_is_named(self):
        client = Client(self, """
start()
memory = U64()
must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(M)))
tell(os.getpid())
""")
        for name in os.listdir(self.live):
            os.truncate(os.path.join(self.live, name), 0)
        for command in ("leaks", "map"):
            result = subprocess.run([CUVMM, command, str(client.pid), "--folder", self.live], capture_output=True, text=True,
                                    timeout=60)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(result.stderr, rf"process {client.pid} shows nothing: {self.live}/{client.pid}-.*live: it is empty; "
                                            "somebody cut the file off, or the process is making it at this moment")

    def test_a_file_that_its_dead_process_did_not_finish_is_removed(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        os.makedirs(self.live, mode=0o700, exist_ok=True)
        old, young, alive = (os.path.join(self.live, f"{pid}-1.{n:09}.live") for n, pid in
                             enumerate((ended.pid, ended.pid, os.getpid())))
        for path in (old, young, alive):
            with open(path, "wb") as file:
                file.write(bytes(1 << 16))
        for path in (old, alive):
            os.utime(path, (0, 0))
        self.json("top")
        self.assertEqual([os.path.exists(path) for path in (old, young, alive)], [False, True, True])

    def test_since_a_mark_only_what_is_new(self):
        client = Client(self, GIVES_UP)
        mark = str(self.json("leaks", str(client.pid), status=1)["mark"])
        self.assertEqual(self.json("leaks", str(client.pid), "--since", mark)["leaks"], [])
        client.say()
        client.say()
        later = self.json("leaks", str(client.pid), "--since", mark, status=1)
        self.assertEqual(len(later["leaks"]), 2)
        self.assertEqual([(grown["what"], grown["count"], grown["bytes"]) for grown in later["grown"]],
                         [("allocation of cuMemCreate", 2, 4 << 20)])

    def test_a_signal_asks_for_them(self):
        client = Client(self, GIVES_UP, "--leaks-signal", "USR1")
        os.kill(client.pid, signal.SIGUSR1)
        client.say()
        output = client.end()
        self.assertRegex(output, r"cuvmm: leaks now: [12]\n")
        self.assertIn("cuvmm: cuMemCreate-released: ", output)

    def test_a_call_of_the_program_asks_for_them(self):
        client = Client(self, GIVES_UP, env={**os.environ, "ASK": "1"})
        self.assertEqual(client.say(), ["leaks", "2"])

    def test_a_signal_that_cannot_be_is_refused(self):
        def run(*options, **variables):
            return subprocess.run([CUVMM, "run", "--emulate", *options, "--", sys.executable, "-c", PRELUDE + "start()"],
                                  capture_output=True, text=True, timeout=60, env={**os.environ, **variables})

        self.assertIn("CUVMM_LEAKS_SIGNAL=KILL is not understood", run(CUVMM_LEAKS_SIGNAL="KILL").stderr)
        result = run("--leaks-signal", "KILL")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--leaks-signal: 'KILL' is not USR1, USR2 or the number", result.stderr)


MAPS = """
base = reserve(4 * M)
map_at(base, 4 * M, handle)
"""


class Threads(LiveTest):
    """Troubles that users reported, in small; docs/threads.md names these tests."""

    def test_ipc_handles_that_are_opened_and_never_closed(self):
        # vllm-project/vllm#46515: a server opens a handle of another process for each request.
        owner = Client(self, """
start()
blobs = []
for i in range(4):
    memory, blob = U64(), Blob()
    must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(2 * M)))
    must(cuda.cuIpcGetMemHandle(ctypes.byref(blob), memory))
    blobs.append(bytes(blob).hex())
tell(os.getpid(), *blobs)
""")
        server = Client(self, """
start()
line = tell(os.getpid())
while line:
    blob, memory = Blob.from_buffer_copy(bytes.fromhex(line)), U64()
    must(cuda.cuIpcOpenMemHandle_v2(ctypes.byref(memory), blob, ctypes.c_uint(1)))
    line = tell("opened")
""")
        server.say(owner.words[0])
        mark = str(self.json("leaks", str(server.pid))["mark"])
        for blob in owner.words[1:]:
            server.say(blob)
        text = self.look("leaks", str(server.pid), "--since", mark)
        self.assertIn("3 opens of IPC memory made since then and still there, 6 MiB", text)
        self.assertRegex(text, r"still there.*\n    #\d+ <module> at <string>:\d+ \(Python\)\n")
        row = next(row for row in self.json("top")["processes"] if row["pid"] == server.pid)
        self.assertEqual(row["ipc"], {"count": 4, "bytes": 8 << 20})

    def exporter_and_importer(self, after=MAPS):
        mine, program_side = socket.socketpair()
        self.addCleanup(mine.close)
        exporter = Client(self, f"""
start()
handle = create(4 * M)
line = socket.socket(fileno={mine.fileno()})
fd = export(handle)
socket.send_fds(line, [b"x"], [fd])
os.close(fd)
tell(os.getpid())
must(cuda.cuMemRelease(handle))
tell("released")
""", pass_fds=[mine.fileno()])
        importer = Client(self, f"""
start()
line = socket.socket(fileno={program_side.fileno()})
fd = socket.recv_fds(line, 1, 1)[1][0]
handle = import_(fd)
os.close(fd)
{after}
tell(os.getpid())
""", pass_fds=[program_side.fileno()])
        program_side.close()
        return exporter, importer

    def test_imports_pin_the_exporters_memory(self):
        # openucx/ucx#11753: who still holds what the exporter has released?
        exporter, importer = self.exporter_and_importer()
        exporter.say()
        rows = {row["pid"]: row for row in self.json("top")["processes"]}
        self.assertEqual(rows[exporter.pid]["allocations"]["count"], 0)
        self.assertEqual(rows[importer.pid]["imports"], {"count": 1, "bytes": 4 << 20})

    def test_both_sides_of_shared_memory_are_reported(self):
        exporter, importer = self.exporter_and_importer()
        shared = self.json("top", "--sharing")["shared"]
        self.assertEqual(len(shared), 1)
        self.assertEqual({holder["pid"] for holder in shared[0]["holders"]}, {exporter.pid, importer.pid})
        self.assertIn("4 MiB: ", self.look("top", "--once", "--sharing"))

    def test_forked_workers_keep_descriptors(self):
        # NVIDIA-NeMo/Megatron-Bridge#5984: workers that make no CUDA call inherit what the parent exports.
        client = Client(self, """
start()
handle = create(4 * M)
fd = export(handle)
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.close(write)
    os.read(read, 1)
    os._exit(0)
os.close(read)
tell(os.getpid(), child)
os.close(write)
os.waitpid(child, 0)
""")
        shared = self.json("top", "--sharing")["shared"]
        self.assertEqual({holder["pid"] for holder in shared[0]["holders"]}, {client.pid, int(client.words[0])})

    def test_imports_that_stay_mapped_after_an_abort(self):
        # NVIDIA/nccl#1968: the communicator is aborted, and what it mapped of its peers stays.
        _, importer = self.exporter_and_importer()
        text = self.look("leaks", str(importer.pid), "--since", "0")
        self.assertIn("1 imported allocation made since then and still there, 4 MiB", text)
        self.assertIn("imported memory", self.look("map", str(importer.pid)))


def main():
    global CUVMM, SOURCE
    CUVMM, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


if __name__ == "__main__":
    main()
