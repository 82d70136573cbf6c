# SPDX-License-Identifier: Apache-2.0
"""Tests a user's library that stands between program and driver: under cuvmm it is called as without, or cuvmm says that it is not.

Usage: interposer_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[2]), "tools"))
import cli_test  # noqa: E402 (found by the line before)

# Linked with the driver.
PROGRAM = """
typedef unsigned long long Address;
int cuInit(unsigned), cuMemAddressReserve(Address*, unsigned long, unsigned long, Address, Address);
int cuMemAddressFree(Address, unsigned long);
int main(void) {
  Address base = 0;
  if (cuInit(0)) return 1;
  if (cuMemAddressReserve(&base, 4 << 20, 0, 0, 0)) return 2;
  return cuMemAddressFree(base, 4 << 20) == -1 ? 77 : 3;
}
"""
# One function passes the call on to the next definition; the other one answers the call itself.
QUOTA = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int cuMemAddressReserve(void* base, unsigned long size, unsigned long alignment, void* wish, void* flags) {
  int (*next)(void*, unsigned long, unsigned long, void*, void*) = dlsym(RTLD_NEXT, "cuMemAddressReserve");
  printf("quota: %lu MiB\\n", size >> 20);
  return next ? next(base, size, alignment, wish, flags) : 99;
}
int cuMemAddressFree(void* base, unsigned long size) { return -1; }
"""
# A handle whose release is answered by the library, and one whose release reaches the driver.
HANDLE = """
int cuInit(unsigned), cuMemCreate(unsigned long long*, unsigned long, const int*, unsigned long long);
int cuMemRelease(unsigned long long);
int main(int count, char** arguments) {
  int prop[8] = {1, 0, 1, 0};
  unsigned long long handle = 0;
  if (cuInit(0) || cuMemCreate(&handle, 2 << 20, prop, 0)) return 1;
  return count > 1 ? 0 : cuMemRelease(handle) == -1 ? 77 : 3;
}
"""
KEEPS = "int cuMemRelease(unsigned long long handle) { return -1; }"


class Interposer(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        driver = self.emulator()
        self.program = self.compiled("program", PROGRAM, "-w", "-Wl,--no-as-needed", driver)
        self.quota = self.compiled("libquota.so", QUOTA, "-w", "-shared", "-fPIC")
        bare = subprocess.run([self.program], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "LD_PRELOAD": self.quota, "LD_LIBRARY_PATH": os.path.dirname(driver)})
        self.assertEqual((bare.returncode, bare.stdout), (77, "quota: 4 MiB\n"), bare.stderr)

    def compiled(self, name, source, *flags):
        super().compiled(name, source, *flags)
        return self.path(name)

    def test_it_is_called_and_what_it_calls_is_checked(self):
        for preload, more in ((self.quota, {}), ("libquota.so", {"LD_LIBRARY_PATH": self.folder})):
            report, result = self.report_of("--emulate", "--", self.program, environment={"LD_PRELOAD": preload, **more})
            self.assertEqual((result.returncode, result.stdout), (77, "quota: 4 MiB\n"), result.stderr)
            # The free never reached the driver.
            self.assertEqual(report["calls"], {"cuMemAddressReserve": 1})
            self.assertEqual(report["alive"]["reservations"], 1)
            self.assertNotIn("shim comes before", result.stderr)
            (note,) = [note for note in report["notes"] if self.quota in note]
            self.assertIn("(cuMemAddressReserve, cuMemAddressFree) and comes before cuvmm", note)
            self.assertEqual(result.stderr.count(self.quota), 1, result.stderr)

    def test_the_leak_that_it_causes_names_it(self):
        program = self.compiled("handle", HANDLE, "-w", "-Wl,--no-as-needed", self.emulator())
        keeps = self.compiled("libkeeps.so", KEEPS, "-w", "-shared", "-fPIC")
        report, result = self.report_of("--emulate", "--", program, environment={"LD_PRELOAD": keeps})
        self.assertEqual(result.returncode, 77, result.stderr)
        (leak,) = report["findings"]
        self.assertIn(f"{keeps} comes before cuvmm and the driver with a cuMemRelease of its own", leak["message"])
        self.assertIn("no enumerator of CUresult, such as -1, comes from that library", leak["fix"])
        report, result = self.report_of("--emulate", "--", program, "and no release")
        (leak,) = report["findings"]
        self.assertNotIn("of its own", leak["message"])
        self.assertNotIn("such as -1", leak["fix"])

    def test_where_it_cannot_be_that_is_reported(self):
        script = f'LD_PRELOAD="$LD_PRELOAD:{self.quota}" exec {self.program}'
        report, result = self.report_of("--emulate", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 3, "the driver answers")
        (note,) = [note for note in report["notes"] if self.quota in note]
        self.assertIn("(cuMemAddressReserve, cuMemAddressFree)", note)
        self.assertEqual(result.stderr.count(self.quota), 1, result.stderr)

    def test_without_it_nothing_is_reported(self):
        innocent = self.compiled("libinnocent.so", "int answer(void) { return 42; }", "-shared", "-fPIC")
        for preload in ("", innocent):
            _, result = self.report_of("--emulate", "--", self.program, environment={"LD_PRELOAD": preload})
            self.assertNotIn("the driver's names", result.stderr)


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
