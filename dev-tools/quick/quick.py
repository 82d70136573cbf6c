#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quick.py plan|run BUILD [AREA...]: the tests that a change in some areas breaks first.

An area is a layer of the source: core, emulator, shim, conformance, fuzz, tools, python, docs, dev. Without one, the files that differ
from origin/main (or main), committed or not, say which; if none does, all are meant. `plan` prints the targets to
build, and `run` runs them: each test program whole, in one process, several at a time. `./dev test --quick` does both.
"""

from __future__ import annotations

import concurrent.futures
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import time

# Area -> the globs of its test programs, and its tests of ctest that are scripts.
TESTS = {
    "core": (["cuvmm_api_test", "cuvmm_check_test", "cuvmm_model_*", "cuvmm_order_test", "cuvmm_profile_test", "cuvmm_program_*",
              "cuvmm_rule_test"], []),
    "emulator": (["cuvmm_emulator_*", "cuvmm_nvml_test", "cuvmm_kernels_*", "cuvmm_runtime_*", "cuvmm_touch_test"], []),
    "shim": (["cuvmm_shim_*", "cuvmm_frames_test", "cuvmm_process_recorder_test", "cuvmm_injected_failures_test"], ["shim.exports"]),
    "conformance": (["cuvmm_case_test", "cuvmm_conform_test", "cuvmm_conformance_late_test", "cuvmm_conformance_emulator_test"], []),
    "fuzz": (["cuvmm_fuzz_*"], []),
    "tools": (["cuvmm_tools_*", "cuvmm_view_test", "cuvmm_doctor_test"], ["cuvmm_cli", "cuvmm_settings"]),
    "python": ([], ["cuvmm_pytest", "cuvmm_python_parts", "cuvmm_client_api", "cuvmm_notebook"]),
    "docs": ([], ["cuvmm_settings", "cuvmm_tutorial"]),
    "dev": ([], ["cuvmm_quick", "cuvmm_scaffold", "cuvmm_headers_watch"]),
}
ALWAYS = ["cuvmm_includes", "cuvmm_docs", "cuvmm_checkout_size"]
# Test programs that take a minute: one runs each conformance case under the shim, one all recordings of GPUs.
LEFT_OUT = ["cuvmm_conformance_regression_test", "cuvmm_conformance_shim_test"]
# Folder -> the areas that a change in it can break. A change in any other folder can break all areas.
FOLDERS = {
    "emulator": ["emulator", "conformance"], "kernels": ["emulator"],
    "shim": ["shim", "tools"], "recorder": ["shim", "tools"], "frames": ["shim", "tools"], "injected_failures": ["shim"],
    "conformance": ["conformance"],
    "fuzz": ["fuzz"],
    "tools": ["tools"], "python": ["python"], "bench": ["tools"], "examples": ["tools"], "real-driver-tests": ["tools"],
    "docs": ["docs"], "dev-tools": ["dev"], "recipes": ["dev"],
}


def areas_of(files: list[str]) -> list[str]:
    """The areas that a change of these files can break, in the order of TESTS."""
    found: set[str] = set()
    for file in files:
        folder = file.split("/")[0]
        if "/" not in file and not file.startswith("CMake"):
            folder = "docs" if file.endswith(".md") else "dev-tools"  # README.md; dev, pyproject.toml
        found.update(["dev"] if folder.startswith(".") else FOLDERS.get(folder, TESTS))
    return [area for area in TESTS if area in found]


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed() -> list[str]:
    base = next((found for name in ("origin/main", "main") if (found := git("merge-base", "HEAD", name))), ["HEAD"])[0]
    return git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")


def programs(known: list[str], areas: list[str]) -> list[str]:
    globs = [glob for area in areas for glob in TESTS[area][0]]
    return sorted(name for name in known if name not in LEFT_OUT and any(fnmatch.fnmatchcase(name, g) for g in globs))


def known_programs(build: pathlib.Path) -> list[str]:
    """The test programs among this build's targets, built or not."""
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"], capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^(cuvmm_\w+_test): phony$", listed.stdout, re.M)))


def run_program(build: pathlib.Path, name: str) -> tuple[str, int, str, float]:
    start = time.monotonic()
    done = subprocess.run([str(build / "bin" / name), "--gtest_brief=1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return name, done.returncode, done.stdout, time.monotonic() - start


def groups(names: list[str]) -> str:
    """The numbers of tests by the beginning of their names: "76 of life, 75 of example"."""
    count: dict[str, int] = {}
    for name in names:
        group = re.match(r"[a-z-]+(?=\.)|cuvmm_fuzz_recorded", name)
        count[group[0] if group else "others"] = count.get(group[0] if group else "others", 0) + 1
    return ", ".join(f"{number} of {group}" for group, number in sorted(count.items(), key=lambda item: -item[1]))


def run(build: pathlib.Path, areas: list[str]) -> int:
    listed = subprocess.run(["ctest", "--test-dir", str(build), "-N"], capture_output=True, text=True, check=True).stdout
    tests = re.findall(r"Test +#\d+: (\S+)", listed)
    scripts = list(dict.fromkeys(name for name in ALWAYS + [s for area in areas for s in TESTS[area][1]] if name in tests))
    failed, ran, start = [], 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        todo = [pool.submit(run_program, build, name) for name in programs(known_programs(build), areas)]
        for future in concurrent.futures.as_completed(todo):
            name, code, output, seconds = future.result()
            passed = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) tests?\.", output))
            ran += passed
            print(f"{'ok' if code == 0 else 'FAILED':6} {name}: {passed} tests, {seconds:.1f} s", flush=True)
            if code != 0:
                failed.append(name)
                print(output, flush=True)
    if scripts:
        done = subprocess.run(["ctest", "--test-dir", str(build), "--output-on-failure", "-j", str(os.cpu_count()), "-R",
                               "^(" + "|".join(map(re.escape, scripts)) + ")$"], stdout=subprocess.PIPE, text=True)
        ran += len(scripts)
        if done.returncode != 0:
            failed.append("ctest")
            print(done.stdout)
        else:
            print(f"ok     {', '.join(scripts)}")
    gtest = re.compile(r"[A-Z]\w*(/\w+)?\.|\w+/\w+\.")
    left = [name for name in tests if not gtest.match(name) and name not in scripts]
    print(f"\nareas {', '.join(areas)}: {ran} tests in {time.monotonic() - start:.0f} s, "
          + (f"failed: {', '.join(failed)}" if failed else "none failed"))
    print(f"left out: {', '.join(LEFT_OUT)}; {groups(left)}. `./dev test` runs them all.")
    return 1 if failed else 0


def main() -> int:
    if len(sys.argv) < 3 or sys.argv[1] not in ("plan", "run"):
        print(__doc__)
        return 2
    build, asked = pathlib.Path(sys.argv[2]), sys.argv[3:]
    if unknown := [area for area in asked if area not in TESTS]:
        print(f"quick: no area is called {', '.join(unknown)}; there are {', '.join(TESTS)}", file=sys.stderr)
        return 2
    areas = asked or areas_of(changed()) or list(TESTS)
    if sys.argv[1] == "run":
        return run(build, areas)
    # The script tests start the command, the shim and the emulator.
    print("\n".join([*programs(known_programs(build), areas), "cuvmm", "cuvmm_shim", "cuvmm_emulator"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
