# SPDX-License-Identifier: Apache-2.0
"""Runs a client of another author on the emulator, under the shim, and compares its result with the
expected one.

$CUVMM_CLIENTS names a Python that has the wheels of requirements.txt, or some of them (several
gigabytes, so no script installs them). Exit code 0 when the client ends well, without a finding,
and skips kernels exactly if it is expected to; 77 when its wheel is missing.

usage: check.py --build BUILD CLIENT
"""

import argparse
import dataclasses
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "examples"))

import expectation  # noqa: E402
import under_shim  # noqa: E402

SKIPPED = 77


@dataclasses.dataclass(frozen=True)
class Client:
    package: str
    script: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    skips: bool = True  # it launches kernels, and the emulator skips them
    led: bool = False  # with the start-up hook (cuvmm run --python)
    timeout: int = 250  # seconds


EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
SKIP = {"CUVMM_TORCH": "skip"}

CLIENTS = {
    "cupy": Client("cupy", "linked_runtime.py", ("cupy",), skips=False),
    "rmm": Client("rmm", "linked_runtime.py", ("rmm",), skips=False),
    "numba": Client("numba_cuda", "numba_memory.py"),
    "numba_kernels": Client("numba_cuda", "numba_kernels.py", skips=False, led=True),
    "numba_suite": Client("numba_cuda", "numba_suite.py", timeout=400),
    "core": Client("cuda.core", "core_program.py", skips=False),
    "torch": Client("torch", "torch_start.py", ("plain",), SKIP),
    "torch_expandable": Client("torch", "torch_start.py", ("expandable",), EXPANDABLE | SKIP),
    "torch_train": Client("torch", "torch_train.py", ("expandable",), EXPANDABLE | SKIP),
    "torch_train_late": Client("torch", "torch_train.py", ("expandable",), EXPANDABLE | SKIP | {"CUVMM_STREAMS": "late"}),
    "torch_compute": Client("torch", "torch_compute.py", (), EXPANDABLE, skips=False),
    "torch_compute_late": Client("torch", "torch_compute.py", (), EXPANDABLE | {"CUVMM_STREAMS": "late:7"}, skips=False),
    "torch_operators": Client("torch", "torch_operators.py", (), EXPANDABLE, skips=False, timeout=1500),
}


def faults(client: Client, run: under_shim.Run) -> list[str]:
    found = [] if run.code == 0 else [run.end()]
    found += expectation.Expectation(()).difference(run.findings)
    if run.report is None:
        found.append("there is no report")
    elif client.skips != bool(run.report.get("skipped_launches")):
        found.append("no kernel was skipped" if client.skips else "kernels were skipped")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("client", choices=CLIENTS)
    options = parser.parse_args()
    client = CLIENTS[options.client]
    python = os.environ.get("CUVMM_CLIENTS", "")
    if not os.access(python, os.X_OK):
        print("skipped: $CUVMM_CLIENTS names no Python")
        return SKIPPED
    build = under_shim.Build(options.build)
    probe = [python, "-c", f"import {client.package.split('.')[0]}, importlib.util as u; exit(u.find_spec({client.package!r}) is None)"]
    if build.run(probe, emulate=False, shim=False).code != 0:
        print(f"skipped: {python} has no {client.package}")
        return SKIPPED
    environment = dict(client.environment)
    if client.led:
        environment["PYTHONPATH"] = str(build.emulator / "python")
    run = build.run([python, str(HERE / client.script), *client.arguments], emulate=True,
                    environment=environment, timeout=client.timeout)
    print(run.output)
    if run.code == SKIPPED:
        return SKIPPED
    found = faults(client, run)
    print("\n".join(found) or "as expected")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
