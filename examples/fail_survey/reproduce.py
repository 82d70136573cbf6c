# SPDX-License-Identifier: Apache-2.0
"""Checks that the programs in upstream/ still behave as docs/testing/fail-survey.md says.

usage: reproduce.py --build BUILD NAME

The programs of cuda.core run in .deps/venv, which `./dev` makes. $CUVMM_CLIENTS names a Python that has PyTorch, and
$VLLM_FOLDER names the folder vllm/ of vllm's wheel: without them, the other programs exit with 77.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "examples"))

import under_shim  # noqa: E402

SKIPPED = 77


@dataclasses.dataclass(frozen=True)
class Case:
    script: str
    code: int  # its exit code
    rules: set[str]  # of its findings
    fail: str = ""
    needs: str = ""  # "", "torch", "torch_memory_saver", "vllm"
    says: str = ""  # in what it prints


CASES = {
    "core_rollback": Case("core_rollback_unmaps_nothing", 0, {"cuMemUnmap-mapped"}, "cuMemMap@1=OUT_OF_MEMORY!"),
    "core_null": Case("core_grow_frees_null", 1, {"cuMemAddressFree-ptr-nonnull"}, "cuMemAddressReserve@2=OUT_OF_MEMORY"),
    "core_access": Case("core_grow_loses_access", 1, {"data-writable"}, "cuMemCreate@2=OUT_OF_MEMORY"),
    "core_peers": Case("core_pool_close_keeps_peers", 0, {"cuMemPoolSetAccess-own-device"}),
    "torch_map": Case("torch_segment_broken_for_ever", 1, {"cuMemCreate-released"}, "cuMemMap@1", "torch",
                      says="attempt 2 RuntimeError !handles_.at(i) INTERNAL ASSERT FAILED"),
    "torch_access": Case("torch_segment_broken_for_ever", 1, set(), "cuMemSetAccess@1", "torch",
                         says="attempt 2 RuntimeError !handles_.at(i) INTERNAL ASSERT FAILED"),
    "saver_exit": Case("memory_saver_ends_the_process", 1, set(), needs="torch_memory_saver", says="func=tms_torch_malloc"),
    "vllm_memory": Case("vllm_out_of_memory_for_ever", 1, set(), needs="vllm", says="34 MiB: OUT OF MEMORY, with"),
    "vllm_map": Case("vllm_map_failure_leaks", 1, {"cuMemUnmap-ptr-reserved", "cuMemCreate-released"}, "cuMemMap@1", "vllm"),
    "vllm_access": Case("vllm_map_failure_leaks", 1,
                        {"cuMemAddressFree-unmapped", "cuMemAddressReserve-freed", "cuMemCreate-released"},
                        "cuMemSetAccess@1", "vllm"),
    "vllm_asleep": Case("vllm_freed_while_asleep", 0, {"cuMemUnmap-mapped", "cuMemRelease-pairing"}, needs="vllm"),
}


def python_for(case: Case) -> str:
    """The interpreter; "" and a word about why, where there is none."""
    if not case.needs:
        venv = os.environ.get("CUVMM_PYTHON", str(ROOT / ".deps/venv/bin/python3"))
        if not os.access(venv, os.X_OK):
            print(f"skipped: there is no {venv}; `./dev` makes it from emulator/python/requirements.txt")
            return ""
        return venv
    python = os.environ.get("CUVMM_CLIENTS", "")
    if not os.access(python, os.X_OK):
        print("skipped: $CUVMM_CLIENTS names no Python")
        return ""
    module = "torch" if case.needs == "vllm" else case.needs
    probe = [python, "-c", f"import importlib.util as u; exit(u.find_spec({module!r}) is None)"]
    if subprocess.run(probe, check=False).returncode != 0:
        print(f"skipped: {python} has no {module}")
        return ""
    if case.needs == "vllm" and not os.path.isdir(os.path.join(os.environ.get("VLLM_FOLDER", ""), "vllm")):
        print("skipped: $VLLM_FOLDER has no vllm")
        return ""
    return python


def faults(case: Case, run: under_shim.Run) -> list[str]:
    found = {finding["rule"] for finding in run.findings if finding.get("kind") in ("error", "undefined", "leak")}
    faults = [] if run.code == case.code else [run.end()]
    faults += [f"missing: {rule}" for rule in sorted(case.rules - found)]
    faults += [f"unexpected: {rule}" for rule in sorted(found - case.rules)]
    if case.says not in run.output:
        faults.append(f"it does not say {case.says!r}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("name", choices=CASES)
    options = parser.parse_args()
    case = CASES[options.name]
    python = python_for(case)
    if not python:
        return SKIPPED
    environment = {"CUVMM_DEVICES": "2"} | ({"CUVMM_FAIL": case.fail} if case.fail else {})
    run = under_shim.Build(options.build).run([python, str(HERE / "upstream" / f"{case.script}.py")], emulate=True,
                                              environment=environment, timeout=300)
    print(run.output)
    found = faults(case, run)
    print("\n".join(found) or "as the page says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
