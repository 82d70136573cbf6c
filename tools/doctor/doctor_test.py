# SPDX-License-Identifier: Apache-2.0
"""Tests the output of cuvmm doctor: on the emulator, without a driver, and under limits of the process.

Usage: doctor_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the emulator and its NVML in place.
"""
import ctypes
import errno
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CUVMM, SOURCE = None, None
STATUSES = {"works", "does not", "unknown"}
GIB = 1 << 30
PIDFD_GETFD = 438


def forbid_pidfd_getfd():
    """Installs a seccomp filter like a container's: pidfd_getfd answers EPERM, all other calls work."""
    load_number, equal, answer = 0x20, 0x15, 0x06
    allow, refuse = 0x7fff0000, 0x00050000 | errno.EPERM
    code = struct.pack("HBBI" * 4, load_number, 0, 0, 0, equal, 0, 1, PIDFD_GETFD,
                       answer, 0, 0, refuse, answer, 0, 0, allow)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, mode_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_filter, mode_filter, program, 0, 0):
        os._exit(77)


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cuvmm-doctor-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("CUVMM_", "CUDA_"))}

    def run_(self, *arguments, limit=None, **variables):
        if "--timeout" not in arguments:
            arguments = ("--timeout", "60", *arguments)  # a long limit, because the test machine may be busy
        return subprocess.run([CUVMM, "doctor", *arguments], capture_output=True, text=True, timeout=500,
                              env={**self.environment, **variables}, preexec_fn=limit)

    def checks(self, *arguments, code=0, **more):
        done = self.run_("--json", *arguments, **more)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        listed = json.loads(done.stdout)["checks"]
        for check in listed:
            self.assertEqual(list(check), ["id", "status", "detail", "fix", "source"])
            self.assertIn(check["status"], STATUSES)
            self.assertTrue(check["detail"], check)
            if check["status"] == "does not":
                self.assertTrue(check["fix"], check)
        found = {check["id"]: check for check in listed}
        self.assertEqual(len(found), len(listed))
        return found

    def assert_status(self, checks, status, *ids):
        for name in ids:
            self.assertEqual(checks[name]["status"], status, checks[name])

    def library(self, body):
        """Builds a libcuda with the given behaviour."""
        source, path = os.path.join(self.folder, "cuda.c"), os.path.join(self.folder, "libcuda.so.1")
        with open(source, "w", encoding="utf-8") as file:
            file.write(body)
        if subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source], capture_output=True, check=False).returncode:
            self.skipTest("needs cc")
        return path

    def profile(self, **changes):
        with open(os.path.join(SOURCE, "rulebook", "profiles", "documented.toml"), encoding="utf-8") as file:
            text = file.read()
        for name, value in changes.items():
            text, count = re.subn(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
            self.assertEqual(count, 1, name)
        path = os.path.join(self.folder, "profile.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class OnTheEmulator(Doctor):
    def test_what_it_can_do_works(self):
        checks = self.checks("--emulate", CUVMM_DEVICES="2")
        self.assert_status(checks, "works", "driver", "devices", "compute-mode", "granularity", "reserve", "vmm",
                           "peer", "fd", "nvml", "mig", "confidential-computing")
        self.assertIn("emulator", checks["driver"]["detail"])
        self.assertRegex(checks["devices"]["detail"], r"^2 x NVIDIA H200 \(GPU-[0-9a-f-]{36}, GPU-[0-9a-f-]{36}\)")
        self.assertIn("minimum 2 MiB", checks["granularity"]["detail"])
        self.assert_status(checks, "unknown", "multicast")

    def test_fabric_handles_need_a_channel(self):
        checks = self.checks("--emulate", "--need", "fabric", code=1)
        self.assert_status(checks, "does not", "fabric")
        self.assertIn("CUDA_ERROR_NOT_PERMITTED (800)", checks["fabric"]["detail"])
        self.assertIn("nvbandwidth#39", checks["fabric"]["source"])
        if checks["imex-channels"]["status"] == "does not":
            self.assertIn("see imex-channels", checks["fabric"]["detail"])
            # The fix is that of imex-channels, or that of kernel-module, which is the cause of the former.
            self.assertIn(checks["fabric"]["fix"], [checks[name]["fix"] for name in ("imex-channels", "kernel-module")])
            self.assertNotIn("see ", checks["fabric"]["fix"])
        # With a channel, another process maps the memory.
        checks = self.checks("--emulate=" + self.profile(fabric_channel="true"), "--need", "fabric")
        self.assert_status(checks, "works", "fabric")

    def test_one_device_has_no_peer(self):
        checks = self.checks("--emulate", "--need", "vmm,peer", code=1, CUVMM_DEVICES="1")
        self.assert_status(checks, "does not", "peer")
        self.assert_status(checks, "works", "vmm")

    def test_no_device_is_said_of_all_that_needs_one(self):
        checks = self.checks("--emulate", "--need", "devices", code=1, CUVMM_DEVICES="0")
        self.assert_status(checks, "does not", "devices", "vmm", "fd", "fabric", "dma-buf", "peer")

    def test_text_has_80_columns_and_a_summary(self):
        done = self.run_("--emulate", "--need", "vmm,fabric")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        for line in lines:
            self.assertTrue(len(line) <= 80 or " " not in line.strip(), line)
        self.assertEqual([line for line in lines if not line.startswith(" ")][:-1],
                         ["machine", "driver", "sharing", "NVML"])
        self.assertRegex(lines[-1], r"^\d+ work, \d+ do not, \d+ unknown; needed, but not there: fabric$")


class WithoutAGpu(Doctor):
    def test_nothing_works_and_the_driver_is_why(self):
        checks = self.checks("--need", "nofile,shm,pidfd,driver", code=1)
        if checks["driver"]["status"] == "works":
            self.skipTest("this machine has a driver")
        self.assertIn("libcuda.so.1", checks["driver"]["detail"])
        self.assert_status(checks, "does not", "driver", "devices", "vmm", "fd", "fabric", "dma-buf", "nvml")
        self.assertIn("see driver", checks["vmm"]["detail"])
        self.assert_status(checks, "unknown", "granularity", "mig", "multicast")

    def test_machine_is_read_from_its_files(self):
        os.makedirs(os.path.join(self.folder, "proc"))
        with open(os.path.join(self.folder, "proc", "version"), "w", encoding="utf-8") as file:
            file.write("Linux version 5.15.0-microsoft-standard-WSL2")
        checks = self.checks("--root", self.folder)
        self.assertIn("WSL2", checks["platform"]["detail"])
        self.assert_status(checks, "does not", "platform", "kernel-module")


class UnderLimits(Doctor):
    def test_64_open_files(self):
        checks = self.checks("--emulate", "--need", "nofile", code=1,
                             limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        self.assert_status(checks, "does not", "nofile")
        self.assertIn("at most 64 open files", checks["nofile"]["detail"])
        self.assertIn("hard limit is 64", checks["nofile"]["fix"])
        self.assert_status(checks, "works", "driver", "vmm", "fd")

    def test_64_open_files_that_the_user_may_raise(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if 0 <= hard < 1024:
            self.skipTest("the hard limit is low")
        checks = self.checks("--emulate", limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))
        self.assertIn("`ulimit -n", checks["nofile"]["fix"])

    def test_1_gib_of_address_space(self):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard != resource.RLIM_INFINITY:
            self.skipTest("address space is limited")
        if "san.so" in subprocess.run(["ldd", CUVMM], capture_output=True, text=True, check=False).stdout:
            self.skipTest("a sanitizer's shadow memory needs terabytes")
        size = GIB + (64 << 20)  # the command itself uses a part of it
        checks = self.checks("--emulate", "--need", "address-space", code=1,
                             limit=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, hard)))
        self.assert_status(checks, "does not", "address-space", "driver", "vmm")
        left = re.search(r"may have up to ([\d.]+) (GiB|MiB)", checks["address-space"]["detail"])
        left = float(left[1]) * (GIB if left[2] == "GiB" else 1 << 20)
        self.assertTrue(0.8 * GIB < left < size, left)
        self.assertIn("ulimit -v unlimited", checks["address-space"]["fix"])
        # The cause is named, and what would change it was tried.
        self.assertIn("address-space", checks["driver"]["detail"])
        self.assertIn("-Sv unlimited it starts", checks["driver"]["detail"])
        self.assert_status(checks, "works", "pidfd")

    def test_seccomp_keeps_pidfd_getfd_away(self):
        before = self.checks("--emulate")["pidfd"]
        checks = self.checks("--emulate", "--need", "pidfd,fd", code=1, limit=forbid_pidfd_getfd)
        self.assert_status(checks, "does not", "pidfd")
        self.assertIn("seccomp", checks["pidfd"]["detail"])
        self.assertIn("SYS_PTRACE", checks["pidfd"]["fix"])
        self.assertNotEqual(before["detail"], checks["pidfd"]["detail"])
        self.assert_status(checks, "works", "fd")  # sending descriptors needs no permission


# A libcuda of one device whose handles, of any type, are numbers. FAIL="call=code" makes a call fail.
# A call about multicast or managed memory ends it.
LIBCUDA = """
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int answer(const char* call) {
  const char* fail = getenv("FAIL");
  size_t n = strlen(call);
  return fail && !strncmp(fail, call, n) && fail[n] == '=' ? atoi(fail + n + 1) : 0;
}
#define CALL(name, parameters, action) int name parameters { int code = answer(#name); if (code) return code; action; return 0; }
CALL(cuInit, (unsigned f), )
CALL(cuDriverGetVersion, (int* v), *v = 13000)
CALL(cuDeviceGetCount, (int* n), *n = 1)
CALL(cuDeviceGet, (int* d, int i), *d = i)
CALL(cuDeviceGetName, (char* t, int n, int d), strcpy(t, "Device"))
CALL(cuDeviceGetAttribute, (int* v, int a, int d), *v = a != 20)
CALL(cuMemGetAllocationGranularity, (size_t* s, void* p, int o), *s = 2 << 20)
CALL(cuMemAddressReserve, (size_t* p, size_t s, size_t a, size_t at, size_t f), *p = 2 << 20)
CALL(cuMemAddressFree, (size_t p, size_t s), )
CALL(cuMemCreate, (size_t* h, size_t s, int* prop, size_t f),
     if (prop[1] == 8 && getenv("NO_CHANNEL")) return 800; *h = 7)
CALL(cuMemRelease, (size_t h), )
CALL(cuMemMap, (size_t p, size_t s, size_t o, size_t h, size_t f), )
CALL(cuMemUnmap, (size_t p, size_t s), )
CALL(cuMemSetAccess, (size_t p, size_t s, void* d, size_t n), )
CALL(cuMemExportToShareableHandle, (void* out, size_t h, int t, size_t f),
     if (t == 8) memset(out, 0x5a, 64); else *(int*)out = syscall(SYS_memfd_create, "memory", 1))
CALL(cuMemImportFromShareableHandle, (size_t* h, void* in, int t),
     if (t == 8 && ((char*)in)[63] != 0x5a) return 1; if (t == 1 && lseek((int)(size_t)in, 0, SEEK_END) != 0) return 999; *h = 7)
CALL(cuMemGetHandleForAddressRange, (int* out, size_t p, size_t s, int t, size_t f), *out = dup(0))
CALL(cuMulticastCreate, (void), abort())
CALL(cuMulticastGetGranularity, (void), abort())
CALL(cuMemAllocManaged, (void), abort())
CALL(cuCtxResetPersistingL2Cache, (void), abort())
"""


class OnAnotherDriver(Doctor):
    def test_fabric_handles_cross_by_their_bytes(self):
        checks = self.checks("--driver", self.library(LIBCUDA), "--need", "vmm,fd,fabric,dma-buf,driver")
        self.assertIn("CUDA 13.0", checks["driver"]["detail"])
        self.assert_status(checks, "unknown", "multicast")

    def test_codes_of_trials_are_explained(self):
        library = self.library(LIBCUDA)
        for fail, broken, words in (("cuMemImportFromShareableHandle=400", "fabric", "IMEX"),
                                    ("cuMemImportFromShareableHandle=101", "fd", "not visible to the importer"),
                                    ("cuMemSetAccess=802", "vmm", "Fabric Manager or IMEX"),
                                    ("cuMemExportToShareableHandle=304", "fd", "no descriptor could be made"),
                                    ("cuMemCreate=401", "fabric", "wrong or stale"),
                                    ("cuMemCreate=46", "fd", "exclusive"),
                                    ("cuMemMap=801", "vmm", "does not have this"),
                                    ("cuMemAddressReserve=2", "reserve", "address space is short"),
                                    ("cuMemGetHandleForAddressRange=801", "dma-buf", "does not have this")):
            with self.subTest(fail=fail):
                checks = self.checks("--driver", library, "--need", broken, code=1, FAIL=fail)
                call, code = fail.split("=")
                self.assertRegex(checks[broken]["detail"], rf"{call} answered CUDA_ERROR_\w+ \({code}\)")
                self.assertIn(words, checks[broken]["detail"])

    def test_one_handle_type_fails_alone(self):
        checks = self.checks("--driver", self.library(LIBCUDA), "--need", "vmm,fd", NO_CHANNEL="1")
        self.assert_status(checks, "does not", "fabric")
        self.assertIn("IMEX channel", checks["fabric"]["detail"])


class DriversThatMisbehave(Doctor):
    def test_one_that_crashes_is_a_line(self):
        library = self.library("#include <stdlib.h>\nint cuInit(unsigned f) { abort(); }\n")
        checks = self.checks("--driver", library)
        self.assertIn("ended by signal 6 (Aborted) in cuInit", checks["driver"]["detail"])
        self.assert_status(checks, "does not", "driver", "vmm", "fd")

    def test_one_that_hangs_is_a_line(self):
        library = self.library("#include <unistd.h>\nint cuInit(unsigned f) { for (;;) pause(); }\n")
        start = time.monotonic()
        checks = self.checks("--driver", library, "--timeout", "5")
        self.assertLess(time.monotonic() - start, 60)  # tests that the command ends, and not its speed
        self.assertIn("did not come back in cuInit", checks["driver"]["detail"])

    def test_codes_of_its_start_are_explained(self):
        for code, words in ((802, "Fabric Manager"), (803, "different versions"), (34, "stub"), (304, "seccomp"),
                            (100, "sees no GPU"), (12345, "no cause of that is known")):
            with self.subTest(code=code):
                library = self.library(f"int cuInit(unsigned f) {{ return {code}; }}\n")
                driver = self.checks("--driver", library, "--need", "driver", code=1)["driver"]
                self.assertIn(f"({code})", driver["detail"])
                self.assertIn(words, driver["detail"])

    def test_a_file_that_is_no_driver(self):
        driver = self.checks("--driver", __file__)["driver"]
        self.assertEqual(driver["status"], "does not")

    def test_invisible_devices_are_explained(self):
        library = self.library("int cuInit(unsigned f) { return 100; }\n")
        driver = self.checks("--driver", library, CUDA_VISIBLE_DEVICES="9")["driver"]
        self.assertIn('CUDA_VISIBLE_DEVICES is "9"', driver["detail"])

    def test_hidden_devices_are_the_cause_whatever_else_is_missing(self):
        for hidden in ("", "-1", "-1,0"):
            driver = self.checks("--emulate", CUDA_VISIBLE_DEVICES=hidden)["driver"]
            self.assertIn(f'CUDA_VISIBLE_DEVICES is "{hidden}", which hides every GPU', driver["detail"])
            self.assertIn("unset CUDA_VISIBLE_DEVICES", driver["fix"])


class Usage(Doctor):
    def test_unknown_needs_are_refused_with_the_list(self):
        done = self.run_("--need", "vmm,fabrik")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'fabrik'", done.stderr)
        self.assertIn("did you mean fabric", done.stderr)
        self.assertIn("imex-channels", done.stderr)

    def test_two_drivers_are_refused(self):
        self.assertEqual(self.run_("--emulate", "--driver", __file__).returncode, 2)

    def test_page_lists_the_checks(self):
        with open(os.path.join(SOURCE, "docs", "doctor.md"), encoding="utf-8") as file:
            documented = re.findall(r"^\| `([a-z-]+)` \|", file.read().split("## Which line")[0], re.M)
        self.assertEqual(sorted(documented), sorted(self.checks("--emulate")))


if __name__ == "__main__":
    CUVMM, SOURCE = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main()
