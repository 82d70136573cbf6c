# SPDX-License-Identifier: Apache-2.0
"""gdb_test.py CUVMM PROGRAM: tests that the breakpoint of docs/howto/debug.md stops once for each call; 77 without gdb."""
import shutil
import subprocess
import sys

cuvmm, program = sys.argv[1:]
if not shutil.which("gdb"):
    print("there is no gdb here")
    sys.exit(77)
stops = ["-ex", "continue", "-ex", "bt 2"]
done = subprocess.run([cuvmm, "run", "--emulate", "--quiet", "--", "gdb", "-q", "-nx", "-batch", "-ex", "set breakpoint pending on",
                       "-ex", "break main", "-ex", "run", "-ex", 'break cuMemUnmap if !$_caller_matches("cuvmm::")',
                       *stops, "-ex", "delete", "-ex", "continue", program],
                      capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
if "ptrace" in done.stderr or "Operation not permitted" in done.stderr:
    print("gdb may not start a process here:", done.stderr)
    sys.exit(77)
if "$_caller_matches" in done.stderr:
    print("this gdb has no Python:", done.stderr)
    sys.exit(77)
stop = done.stdout.partition("Breakpoint 2")[2]
assert "#0  cuMemUnmap" in stop, done.stdout + done.stderr
assert "#1 " in stop and "cuvmm::" not in stop.partition("#1 ")[2].splitlines()[0], done.stdout
assert done.stdout.count("exited normally") == 1, done.stdout
# The breakpoint has an ignore count, so gdb counts its stops: one for each call, and not two.
counted = subprocess.run([cuvmm, "run", "--emulate", "--quiet", "--", "gdb", "-q", "-nx", "-batch", "-ex", "set breakpoint pending on",
                          "-ex", "break main", "-ex", "run", "-ex", "set $stops = 0", "-ex", "set $all = 0",
                          "-ex", 'break cuMemUnmap if $stops++ < 0', "-ex",
                          'break cuMemUnmap if !$_caller_matches("cuvmm::") && $all++ < 0', "-ex", "continue",
                          "-ex", "print $stops", "-ex", "print $all", program],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
both, outside_cuvmm = (int(line.split("= ")[1]) for line in counted.stdout.splitlines() if line.startswith("$"))
assert outside_cuvmm > 0 and both == 2 * outside_cuvmm, counted.stdout + counted.stderr
print("one stop for each call:", outside_cuvmm, "of", both)
