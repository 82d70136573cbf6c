# SPDX-License-Identifier: Apache-2.0
"""The steps of a run, as data: the program, its conditions, and its expected outcome."""

from __future__ import annotations

import dataclasses
import pathlib

import expectation
import under_shim

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORKLOADS = ROOT / "real-driver-tests" / "workloads"
CLIENTS = ROOT / "emulator" / "python"

RESULT = "{result}"  # in an argument: the path of this run's result, without its suffix

# Set for every step. Multicast can disturb GPUs that others share, so it stays off in all programs
# that could use it, and the shim refuses it too.
ENVIRONMENT = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
    "PYTHONUNBUFFERED": "1",
}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
NCCL = EXPANDABLE | {"NCCL_CUMEM_ENABLE": "1", "NCCL_DEBUG": "WARN"}

# NVIDIA/cuda-python issue 2882, read in the source of cuda-core 1.2.0 to 1.2.2.
VIRTUAL_MEMORY_RESOURCE = {
    "cuMemCreate-released": "true: deallocate releases what it retained, and never the reference of cuMemCreate",
    "cuMemRetainAllocationHandle-addr-mapped": "true, and an answer: the buffer that growing replaced is asked for again",
    "cuMemUnmap-ordered": "with --async=exact alone, and true: the copy is from pageable memory and the fill is asynchronous, "
                          "so both may return before they are done, and nothing waits before the range is unmapped",
    "cuMemRetainAllocationHandle-released": "true: growing retains the old allocation and never releases it",
}

FABRIC_PROBE = {
    "cuMemCreate-fabric-channel": "true, and handled: the probe for FABRIC memory is refused without an IMEX channel, "
                                  "and the program falls back to descriptors; advice, so it fails no run",
}

SYMMETRIC = FABRIC_PROBE | {
    "cuMemAddressReserve-freed": "true: PyTorch's symmetric memory unmaps and releases its buffers and the peers', and "
                                 "frees no reservation: 40 of them for 20 buffers on two devices",
}

WAITED_BY_VULKAN = {
    "cuDestroyExternalMemory-ordered": "with --async=exact alone: the host waited, by a fence of Vulkan behind a "
                                       "semaphore that CUDA signalled; cuvmm sees no Vulkan",
}

# The calls under test; a step that makes none of them proves nothing about the shim.
CHECKED_CALLS = (
    "cuMemAddressReserve", "cuMemAddressFree", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
    "cuMemSetAccess", "cuMemGetAccess", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
    "cuMemGetAllocationGranularity", "cuMemGetAllocationPropertiesFromHandle", "cuMemRetainAllocationHandle",
    "cuMemGetHandleForAddressRange",
    "cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedMipmappedArray",
    "cuDestroyExternalMemory", "cuImportExternalSemaphore", "cuDestroyExternalSemaphore",
    "cuMemPoolCreate", "cuMemPoolDestroy", "cuMemAllocFromPoolAsync", "cuMemPoolSetAccess",
    "cuIpcGetMemHandle", "cuIpcOpenMemHandle", "cuIpcCloseMemHandle", "cuIpcGetEventHandle", "cuIpcOpenEventHandle",
    "cuMemPoolExportToShareableHandle", "cuMemPoolImportFromShareableHandle", "cuMemPoolExportPointer",
    "cuMemPoolImportPointer", "cuMemAllocAsync", "cuMemFreeAsync",
)


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    argv: tuple[str, ...]
    timeout: int  # seconds
    devices: int = 1
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    package: str = ""  # a Python module it cannot do without
    gpu: bool = False  # launches kernels: nothing for the emulator
    enforce: bool = False
    shim: bool = True
    timed: bool = True  # also run without the shim, to compare the times
    expects: tuple[str, ...] | None = None  # rules; None: for a person to judge
    known: dict[str, str] = dataclasses.field(default_factory=dict)  # judgements made before, by rule
    refuses: tuple[str, ...] | None = None  # "cuMemCreate CUDA_ERROR_OUT_OF_MEMORY"; None: whatever it is


def all_steps(build: under_shim.Build, python: str) -> list[Step]:
    """In the order in which they run: the cheapest proof first."""
    return (_examples(build) + _flows(build) + _clients(python) + _vulkan(build) + _workloads(python) + _early_unmap(build, python) +
            _recorder(build))


def _examples(build: under_shim.Build) -> list[Step]:
    folder = ROOT / "examples"
    sources = {"growable_buffer": folder / "growable_buffer/main.cc", "legal": folder / "legal.cc"}
    sources |= {source.stem: source for source in sorted((folder / "bugs").rglob("*.cc"), key=lambda file: file.name)}
    steps = []
    for name, source in sources.items():
        wanted = expectation.read(source)
        steps.append(Step(f"example.{name}", (str(build.program(name)),), timeout=30, devices=wanted.devices,
                          environment={"CUVMM_STREAMS": "late"} if wanted.late else {},  # a GPU needs no telling
                          enforce=wanted.enforce, expects=wanted.rules, timed=False))
    return steps


def _flows(build: under_shim.Build) -> list[Step]:
    """The flows: programs that use memory as UCX and hip-tests do."""
    folder = ROOT / "real-driver-tests" / "flows"
    steps = []
    for source in sorted([*folder.glob("hip_*.cc"), *folder.glob("ucx_*.cc")]):
        wanted = expectation.read(source)
        steps.append(Step(f"flow.{source.stem}", (str(build.program(source.stem, "flows")),), timeout=60,
                          devices=wanted.devices, expects=wanted.rules, timed=False))
    return steps


def _clients(python: str) -> list[Step]:
    def client(name: str, package: str, **more) -> Step:
        return Step(f"client.{name}", (python, str(CLIENTS / f"{name}.py")), timeout=60, package=package, **more)

    return [
        client("bindings_round_trip", "cuda.bindings", expects=()),
        client("bindings_two_processes", "cuda.bindings", expects=()),
        # The findings depend on the installed version.
        client("core_grow", "cuda.core", known=VIRTUAL_MEMORY_RESOURCE),
        client("core_peer", "cuda.core", devices=2, known=VIRTUAL_MEMORY_RESOURCE),
    ]


def _vulkan(build: under_shim.Build) -> list[Step]:
    program = str(build.folder / "bin" / "workloads" / "vulkan_import")
    return [Step("workload.vulkan_import", (program,), timeout=60, gpu=True, known=WAITED_BY_VULKAN)]


def _workloads(python: str) -> list[Step]:
    def workload(name: str, *, launcher: tuple[str, ...] = (), variant: str = "", **more) -> Step:
        argv = (python, *launcher, str(WORKLOADS / f"{name}.py"))
        title = f"workload.{name}-{variant}" if variant else f"workload.{name}"
        return Step(title, argv, timeout=more.pop("timeout", 90), gpu=True, **more)

    torch = {"package": "torch", "environment": EXPANDABLE, "known": FABRIC_PROBE}
    run_two = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    return [
        workload("cupy_vmm", package="cupy"),
        workload("torch_sizes", **torch),
        workload("torch_train", **torch),
        workload("torch_out_of_memory", **torch, refuses=("cuMemCreate CUDA_ERROR_OUT_OF_MEMORY",), timed=False),
        workload("torch_streams", **torch),
        workload("torch_profile", **torch),
        workload("torch_compile", timeout=150, **torch),
        workload("torch_share", **torch),
        workload("torch_graphs", **torch),
        workload("torch_pools", **torch),
        workload("torch_malloc_async", package="torch", environment={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
                 expects=()),
        workload("torch_malloc_async", variant="early", package="torch", expects=("data-pool-ordered",), timed=False,
                 environment={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync", "POOL_USE_EARLY": "1"}),
        # The extension alone, or the whole wheel, on PYTHONPATH.
        workload("vllm_sleep", package="cumem_allocator", known=FABRIC_PROBE),
        workload("memory_saver", package="torch_memory_saver"),
        workload("torch_peer", devices=2, **torch),
        workload("nccl_all_reduce", devices=2, package="torch", environment=NCCL, launcher=run_two, timeout=120,
                 known=FABRIC_PROBE),
        workload("nccl_registered", devices=2, package="torch", environment=NCCL, launcher=run_two, timeout=120,
                 known=FABRIC_PROBE),
        workload("torch_symmetric", devices=2, package="torch", environment=NCCL, launcher=run_two, timeout=120,
                 known=SYMMETRIC),
    ]


def _early_unmap(build: under_shim.Build, python: str) -> list[Step]:
    """Each program twice: the wait that is missing, and put back. repeat_unmap.py runs them many times."""
    folder = build.folder / "bin" / "workloads"
    programs = {"kernel": ((str(folder / "unmap_under_kernel"),), ""),
                "torch": ((python, str(WORKLOADS / "torch_early_unmap.py"), str(folder / "libearly_unmap.so")), "torch")}
    steps = []
    for name, (argv, package) in programs.items():
        # After a fault, the program can free nothing. A GPU's streams are late without a setting.
        quiet = {"CUVMM_LEAK_CHECK": "no", "CUVMM_STREAMS": "late"}
        more = {"timeout": 90, "package": package, "gpu": name == "torch", "timed": False}
        steps.append(Step(f"workload.{name}_early_unmap", argv, environment=quiet, expects=("cuMemUnmap-idle",), **more))
        steps.append(Step(f"workload.{name}_waiting_unmap", argv, environment=quiet | {"EARLY_UNMAP_WAITS": "1"},
                          expects=(), **more))
    return steps


def _recorder(build: under_shim.Build) -> list[Step]:
    """This driver's answers to every conformance case, for a profile; no judgement."""
    argv = (str(build.folder / "bin" / "cuvmm-record"), "--output", f"{RESULT}-conformance.json",
            str(ROOT / "conformance" / "cases"), "--families", str(ROOT / "conformance" / "families"),
            "--pairs", "--share", "--jobs", "8")
    return [Step("recorder", argv, timeout=180, shim=False, timed=False)]
