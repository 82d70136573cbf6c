# SPDX-License-Identifier: Apache-2.0
"""cuvmm checkpoint PID --check, on programs like those that other projects' threads tell of, and the finding of a
program that stops itself with such objects. They live on the emulator.

Usage: checkpoint_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import live_test  # noqa: E402
from live_test import PRELUDE, Client, LiveTest  # noqa: E402

MORE = """
start()
class Team(ctypes.Structure):
    _fields_ = [("devices", ctypes.c_uint), ("size", SIZE), ("handles", U64), ("flags", U64)]
def make_team():
    team, made = U64(), Team(2, 4 * M, 1, 0)
    must(cuda.cuMulticastCreate(ctypes.byref(team), ctypes.byref(made)))
    return team
def join(team):
    for device in (0, 1):
        must(cuda.cuMulticastAddDevice(team, INT(device)))
    memory = create(4 * M)
    must(cuda.cuMulticastBindMem(team, SIZE(0), memory, SIZE(0), SIZE(4 * M), U64(0)))
def of_the_host(size):
    prop, handle = Prop(type=1, handles=1, location=Location(3, 0)), U64()
    must(cuda.cuMemCreate(ctypes.byref(handle), SIZE(size), ctypes.byref(prop), U64(0)))
    return handle
def managed(size):
    memory = U64()
    must(cuda.cuMemAllocManaged(ctypes.byref(memory), SIZE(size), ctypes.c_uint(1)))
class Given(ctypes.Structure):
    _fields_ = [("type", INT), ("fd", U64 * 2), ("size", U64), ("flags", ctypes.c_uint), ("more", ctypes.c_uint * 16)]
class Shown(ctypes.Structure):
    _fields_ = [("offset", U64), ("size", U64), ("flags", ctypes.c_uint), ("more", ctypes.c_uint * 16)]
def show_external(size):
    given, shown, memory, at = Given(type=1, size=size), Shown(size=size), ctypes.c_void_p(), U64()
    given.fd[0] = export(create(size))
    must(cuda.cuImportExternalMemory(ctypes.byref(memory), ctypes.byref(given)))
    must(cuda.cuExternalMemoryGetMappedBuffer(ctypes.byref(at), memory, ctypes.byref(shown)))
"""

# A program for each, the words about what is in its way, and the Python function that made it.
THREADS = {
    "nccl 2340": ("make_team()", "multicast object: the checkpoint hangs, also if no memory is bound (nccl 2340)",
                  ", no binding", "make_team at "),
    "nccl 2117": ("join(make_team())", "or calls fail after the restore (nccl 2117)", ", 1 binding", "make_team at "),
    "nccl 2350": ("of_the_host(2 * M)", "memory of a NUMA node of the host: ranks that shared it", "2 MiB", "of_the_host at "),
    "cuda-checkpoint 45": ("export(create(2 * M))", "exported memory: other processes may hold it", "descriptor ", "export at "),
    "cuda-checkpoint 30": ("import_(export(create(2 * M)))", "imported memory: it belongs to another process", "handle 0x",
                           "import_ at "),
    "managed": ("managed(2 * M)", "managed memory: the checkpoint fails", "at 0x", "managed at "),
}
STOP = """
from ctypes import c_int
class Arguments(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]
pid, state = os.getpid(), INT()
def answers(*calls):
    print(*(getattr(cuda, "cuCheckpointProcess" + name)(INT(pid), argument) for name, argument in calls), flush=True)
"""


class Checkpoint(LiveTest):
    def check(self, client, *options, status=1):
        return self.cuvmm("checkpoint", str(client.pid), "--check", "--folder", self.live, *options, status=status)

    def test_what_threads_tell_of(self):
        for thread, (body, words, which, maker) in THREADS.items():
            with self.subTest(thread):
                client = Client(self, MORE + body + "\ntell(os.getpid())\n")
                text = self.check(client)
                for part in (words, which, maker):
                    self.assertIn(part, text)
                client.end()

    def test_memory_of_another_process(self):
        owner = Client(self, MORE + """
memory, blob = U64(), Blob()
must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(2 * M)))
must(cuda.cuIpcGetMemHandle(ctypes.byref(blob), memory))
tell(os.getpid(), bytes(blob).hex())
""")
        opener = Client(self, MORE + """
def open_(line):
    memory = U64()
    must(cuda.cuIpcOpenMemHandle_v2(ctypes.byref(memory), Blob.from_buffer_copy(bytes.fromhex(line)), ctypes.c_uint(1)))
create(2 * M)
open_(tell(os.getpid()))
tell("opened")
""")
        self.check(opener, status=0)
        opener.say(owner.words[0])
        one, = json.loads(self.check(opener, "--json"))["blockers"]
        self.assertEqual((one["what"], one["count"], one["bytes"]), ("opened legacy IPC memory", 1, 2 << 20))
        self.assertTrue(any("open_" in line for line in one["stack"]), one["stack"])

    def test_nothing_is_in_the_way(self):
        client = Client(self, MORE + """
base = reserve(4 * M)
map_at(base, 2 * M, create(2 * M))
allow(base, 2 * M)
memory = U64()
must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(2 * M)))
tell(os.getpid())
join(make_team())
export(create(2 * M))
export(create(2 * M))
tell("more")
""")
        self.assertIn("no object that is in the way", self.check(client, status=0))
        client.say()
        found = [(one["what"], one["count"]) for one in json.loads(self.check(client, "--json"))["blockers"]]
        self.assertEqual(found, [("multicast object", 1), ("exported memory", 1), ("exported memory", 1)])

    def test_usage(self):
        for arguments in (["4711"], ["--check"], ["0", "--check"]):
            done = subprocess.run([live_test.CUVMM, "checkpoint", *arguments], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 2, done.stderr)

    def stops(self, body, *options):
        """The answers of a program, and its findings."""
        report = os.path.join(self.folder, "report.json")
        done = subprocess.run([live_test.CUVMM, "run", "--emulate", *options, "--report", report, "--", sys.executable, "-c",
                               PRELUDE + MORE + STOP + body], capture_output=True, text=True, timeout=100)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)["findings"]
        return done.stdout.split(), [one for one in found if one["kind"] != "leak"], done.stderr

    def test_a_program_that_stops_itself(self):
        legal = """
args = Arguments()
args.bytes[0] = 200
answers(("Lock", ctypes.byref(args)), ("GetState", ctypes.byref(state)), ("Checkpoint", None), ("Restore", None), ("Unlock", None))
memory, word = U64(), ctypes.c_uint()
must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(64)))
print(state.value)
"""
        answers, found, said = self.stops(legal)
        self.assertEqual((answers, found), (["0"] * 5 + ["1"], []), said)
        answers, found, said = self.stops("join(make_team())\nmanaged(2 * M)\nshow_external(2 * M)\n" + legal)
        self.assertEqual(answers[:5], ["0"] * 5, said)
        self.assertEqual([(one["rule"], one["kind"]) for one in found], [("checkpoint-blocked", "advice")])
        self.assertIn("cuCheckpointProcessLock: the process holds multicast object (1): ", found[0]["message"])
        for words in ("; managed memory (1): ", "; external memory (1): "):
            self.assertIn(words, found[0]["message"])
        self.assertIn("make_team", said)

    def test_mistakes(self):
        for body, code, rule in (
                ('answers(("Checkpoint", None))', None, None),  # nobody knows the state yet
                ('answers(("GetState", ctypes.byref(state)), ("Checkpoint", None))', "401", "checkpoint-state"),
                ('answers(("Lock", None), ("Restore", None))', "401", "checkpoint-state"),
                ('answers(("Lock", None), ("Lock", None))', "401", "checkpoint-state"),
                ('answers(("GetState", None))', "1", "checkpoint-out-nonnull"),
                ('answers(("GetRestoreThreadId", None))', "1", "checkpoint-out-nonnull"),
                ('args = Arguments()\nargs.bytes[9] = 1\nanswers(("Lock", ctypes.byref(args)))', "1",
                 "checkpoint-reserved-zero"),
                ('args = Arguments()\nargs.bytes[8] = 2\nanswers(("Lock", None), ("Checkpoint", None), '
                 '("Restore", ctypes.byref(args)))', "1", "announced-array-nonnull")):
            with self.subTest(body):
                answers, found, said = self.stops(body)
                self.assertEqual([one["rule"] for one in found], [rule] if rule else [], said)
                if code:
                    self.assertEqual(answers[-1], code)

    def test_calls_wait_for_the_unlock(self):
        """Another process locks this one: its calls wait, and its memory is as it was."""
        victim = Client(self, MORE + """
import threading, time
memory, word = U64(), ctypes.c_uint()
must(cuda.cuMemAlloc_v2(ctypes.byref(memory), SIZE(64)))
must(cuda.cuMemsetD32_v2(memory, ctypes.c_uint(7), SIZE(16)))
count = 0
def work():
    global count
    start()  # the context of this thread
    while True:
        must(cuda.cuMemcpyDtoH_v2(ctypes.byref(word), memory, SIZE(4)))
        count += 1
threading.Thread(target=work, daemon=True).start()
while count == 0:
    time.sleep(0.01)
tell(os.getpid())
before = -1
while count != before:  # for as long as the thread still makes calls
    before = count
    time.sleep(0.2)
tell(count - before, word.value)
while count == before:
    time.sleep(0.01)
tell(count - before, word.value)
""")
        # A child of this test, as the victim is: it may look into the victim where the kernel lets it.
        other = Client(self, MORE + STOP + """
pid = int(tell(os.getpid()))
answers(("Lock", None), ("Checkpoint", None), ("GetState", ctypes.byref(state)))
tell(state.value)
answers(("Restore", None), ("Unlock", None))
tell("unlocked")
""")
        answers = other.say(str(victim.pid))
        if answers == ["3", "3", "3"]:
            self.skipTest("the kernel lets no process look into its siblings")
        self.assertEqual(answers, ["0", "0", "0"])
        self.assertEqual(other.hear(), ["2"])
        self.assertEqual(victim.say(), ["0", "7"])
        self.assertEqual(other.say(), ["0", "0"])
        self.assertEqual(other.hear(), ["unlocked"])
        calls, value = victim.say()
        self.assertGreater(int(calls), 0)
        self.assertEqual(value, "7")


if __name__ == "__main__":
    live_test.CUVMM, live_test.SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
