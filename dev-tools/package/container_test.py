#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the container recipe examples/ci/Dockerfile as it stands, and runs it as users do, careful users included.

Usage: container_test.py WHEEL ROOT

As root, with buildah and podman (`apt-get install --no-install-recommends buildah podman`), and a PyPI that pip reaches.
Exit code 77 where one is missing. It asks no registry of images. So ROOT, the root folder of a Debian with python3-pip as
wheel_test.py takes it, stands in for the base image python:3.12-slim-bookworm: another Python, in another place, on the same
system. Images and containers lie in a folder of their own that goes at the end; nobody else sees the stand-in.
"""
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from bare_root import Spent, output

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECIPE = SOURCE / "examples/ci/Dockerfile"
PROJECT = SOURCE / "examples/pytest_allocator"
IMAGE = "cuvmm-recipe-test"
# System calls that old or strict profiles of container engines refuse.
REFUSED = ("io_uring_setup kcmp membarrier memfd_create memfd_secret mbind get_mempolicy mincore perf_event_open pidfd_getfd pidfd_open "
           "process_vm_readv process_vm_writev ptrace rseq userfaultfd").split()
PROFILE = "/usr/share/containers/seccomp.json"  # podman's own
CONFIGURATION = """[containers]
default_ulimits = []
cgroups = "disabled"
"""
# Runs in a mount namespace of its own. Mounts a cgroup hierarchy if the machine has none that crun accepts, as some do.
INSIDE = """
[ ! -d /sys/fs/cgroup/unified ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec "$@"
"""


def missing(root):
    """The reason why this test cannot run; "" if it can."""
    if os.geteuid() != 0:
        return "it needs root"
    absent = [name for name in ("buildah", "podman", "unshare") if not shutil.which(name)]
    if absent:
        return f"there is no {' and no '.join(absent)}: apt-get install --no-install-recommends buildah podman"
    return "" if os.path.exists(f"{root}/usr/bin/pip3") else f"{root} has no pip: mmdebstrap --include=python3-pip,ca-certificates"


def pip_settings(folder):
    """A pip.conf for the image with this machine's settings of pip. Files that it names are copied into `folder`."""
    lines = output(sys.executable, "-m", "pip", "config", "list").splitlines()
    here = dict(re.fullmatch(r"(?:global|install|:env:)\.([\w-]+)='(.*)'", line).groups() for line in lines
                if re.fullmatch(r"(?:global|install|:env:)\.[\w-]+='.*'", line))
    kept = {name: here[name] for name in ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout") if name in here}
    if "cert" in here:
        shutil.copy(here["cert"], folder / "etc/pip-certificates.crt")
        kept["cert"] = "/etc/pip-certificates.crt"
    return "".join(f"{name} = {value}\n" for name, value in kept.items())


class Engine:
    """buildah and podman with images of their own in `folder`."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "containers.conf").write_text(CONFIGURATION, encoding="utf-8")
        self.environment = {**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf"),
                            "STORAGE_DRIVER": os.environ.get("STORAGE_DRIVER", "overlay")}
        for name in ("ARENA_MENDED", "PYTEST_ADDOPTS"):
            self.environment.pop(name, None)

    def command(self, program, *words):
        return ["unshare", "--mount", "sh", "-c", INSIDE, "sh", program, "--root", f"{self.folder}/store", "--runroot", f"{self.folder}/run",
                *(["--cgroup-manager", "cgroupfs"] if program == "podman" else []), *words]

    def __call__(self, program, *words, status=0):
        return output(*self.command(program, *words), status=status, env=self.environment)

    def run(self, status, *words):
        """Runs a container of the image without a network. Returns its output."""
        return self("podman", "run", "--rm", "--network", "none", *words, status=status)

    def close(self):
        subprocess.run(self.command("podman", "rm", "--all", "--force", "--time", "0"), env=self.environment, capture_output=True, check=False)
        shutil.rmtree(self.folder)

    def make_base(self, root):
        """Makes the stand-in image, under the name of the recipe's base image."""
        name = re.search(r"^FROM (\S+)$", RECIPE.read_text(encoding="utf-8"), re.M)[1]
        more = self.folder / "more"
        (more / "usr/bin").mkdir(parents=True)
        (more / "etc").mkdir()
        os.symlink("python3", more / "usr/bin/python")
        (more / "etc/pip.conf").write_text("[global]\n" + pip_settings(more), encoding="utf-8")
        archive = self.folder / "base.tar"
        added = [str(file.relative_to(more)) for file in more.rglob("*") if not file.is_dir()]
        # The official image's Python is not the system's, so pip may install there.
        left_out = ["EXTERNALLY-MANAGED", "./proc/*", "./var/cache/apt/*", *(f"./{name}" for name in added)]
        output("tar", "-cf", archive, "-C", root, *(f"--exclude={pattern}" for pattern in left_out), ".")
        output("tar", "-rf", archive, "-C", more, "--owner=0", "--group=0", "--mode=u=rwX,go=rX", *added)
        self("podman", "import", "--quiet", str(archive), f"docker.io/library/{name}")
        archive.unlink()
        python = self.run(0, f"docker.io/library/{name}", "python", "--version").strip()
        print(f"{root}, {python}, stands in for the base image {name}")

    def build(self, wheel):
        context = self.folder / "context"
        shutil.copytree(PROJECT, context, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(wheel, context)
        spent = Spent()
        self("buildah", "bud", "--pull-never", "--isolation", "chroot", "--network", "host", "--build-arg", f"CUVMM_WHEEL=./{os.path.basename(wheel)}",
             "-f", str(RECIPE), "-t", IMAGE, str(context))
        print(f"the recipe was built as it stands, in {spent}")


def strict_profile(engine, errno):
    """podman's own profile without the system calls in REFUSED."""
    profile = json.loads(pathlib.Path(PROFILE).read_text(encoding="utf-8"))
    for group in profile["syscalls"]:
        group["names"] = [name for name in group["names"] if name not in REFUSED]
    profile["syscalls"].append({"names": REFUSED, "action": "SCMP_ACT_ERRNO", "errnoRet": errno, "args": [], "comment": "", "includes": {},
                                "excludes": {}})
    file = engine.folder / f"seccomp-{errno}.json"
    file.write_text(json.dumps(profile), encoding="utf-8")
    return f"--security-opt=seccomp={file}"


def run_project(engine):
    """cuvmm finds and reports the project's two mistakes even in a container with few rights, and none once they are repaired."""
    spec = importlib.util.spec_from_file_location("run_test", SOURCE / "examples/ci/run_test.py")
    run_test = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run_test)
    careful = "--read-only --tmpfs=/tmp --cap-drop=ALL --security-opt=no-new-privileges"
    for name, options in (("as the recipe says", ""), ("as another user", "--user=4711:4711"), ("careful", careful),
                          ("system calls are not permitted", careful + " " + strict_profile(engine, 1)),
                          ("system calls are not there", careful + " " + strict_profile(engine, 38)),
                          ("two workers", careful)):
        out = engine.folder / "out"
        out.mkdir()
        out.chmod(0o777)
        workers = " -n 2" if name == "two workers" else ""
        words = " ".join(f"'{word}'" for word in engine.command("podman", "run", "--rm", "--network=none"))
        spent = Spent()
        run_test.judged(f"{words} {options} --volume={out}:/out --env=ARENA_MENDED {IMAGE}{workers}", out, engine.environment,
                        ("cuvmm.sarif", "cuvmm.json"))
        shutil.rmtree(out)
        print(f"{name}: two mistakes found and handed on, none once they are mended; both in {spent}")


def run_where_little_can_be_written(engine):
    closed = engine.folder / "closed"
    closed.mkdir(mode=0o755)
    printed = engine.run(4, f"--volume={closed}:/out", IMAGE)
    assert "--cuvmm-report /out/cuvmm.sarif: this user cannot write to /out" in printed and "Traceback" not in printed, printed
    one_finding = ("--read-only", "--read-only-tmpfs=false", "--entrypoint=cuvmm")
    command = (IMAGE, "run", "--emulate", "--error-exitcode", "9", "--", "python", "-m", "cuvmm.first_finding")
    assert "[cuMemRelease-pairing]" in engine.run(9, *one_finding, *command)
    printed = engine.run(125, *one_finding, "--ipc=none", *command)
    assert re.search(r"^cuvmm run: no temporary folder can be made \(/tmp: .*\)\. Set TMPDIR", printed), printed
    print("where little can be written: found with /dev/shm alone; refused in one line where there is nothing")


# Makes memory, writes to it, exports it, and waits to be looked at.
HOLDER = """
import ctypes, sys, time
import driver
driver.start()
size = driver.granularity()
base, handle = driver.reserve(size), driver.create(size)
driver.map_at(base, size, handle)
driver._must("cuMemsetD8_v2", ctypes.c_uint64(base), ctypes.c_ubyte(7), ctypes.c_size_t(size))
got = (ctypes.c_ubyte * 4)()
driver._must("cuMemcpyDtoH_v2", got, ctypes.c_uint64(base), ctypes.c_size_t(4))
lost = driver.create(size)
print("holds", list(got), flush=True)
time.sleep(float(sys.argv[1]))
driver.release(lost); driver.unmap(base, size); driver.release(handle); driver.free_address(base, size)
"""


def look_inside(engine):
    """Looks at a running container from inside and from its machine. Memory works even if memfd_create is refused."""
    printed = engine.run(0, "--entrypoint=cuvmm", IMAGE, "doctor")
    assert re.search(r"in a container\s+\(podman\)", printed), printed
    program = engine.folder / "holder.py"
    program.write_text(HOLDER, encoding="utf-8")
    options = (f"--volume={program}:/tests/holder.py:ro", "--entrypoint=cuvmm", IMAGE, "run", "--emulate", "--", "python", "holder.py")
    for errno in (1, 38):
        printed = engine.run(0, strict_profile(engine, errno), *options, "0")
        assert "holds [7, 7, 7, 7]" in printed, printed
    memory = engine.folder / "shm"
    memory.mkdir()
    memory.chmod(0o1777)
    shared = f"--volume={memory}:/dev/shm"
    engine("podman", "run", "--detach", "--name", "holder", "--network", "none", shared, *options, "60")
    try:
        def inside(user, status, *words):
            return engine("podman", "exec", "--user", user, "holder", "cuvmm", *words, status=status)

        wait_for = "until cuvmm top --once | grep -q python; do sleep 0.1; done"
        engine("podman", "exec", "--user", "10001:10001", "holder", "timeout", "20", "sh", "-c", wait_for)
        pid = re.search(r"^ +(\d+) python", inside("10001:10001", 0, "top", "--once"), re.M)[1]
        assert "1 reference" in inside("10001:10001", 0, "map", pid)
        # A container that shares /dev/shm leaves the file alone, because the pid names another process there, or none.
        assert "No process shows" in engine.run(0, shared, "--entrypoint=cuvmm", IMAGE, "top", "--once")
        for user, hidden in (("10001:10001", False), ("10001:0", True)):
            printed = inside(user, 1, "leaks", pid)
            assert "cuMemCreate-released" in printed and "holder.py:11 (Python)" in printed, printed
            assert ("So native functions have no names" in printed) == hidden, printed
    finally:
        engine("podman", "rm", "--force", "--time", "0", "holder")
    print("doctor, top, map and leaks say the right words inside")


def main(wheel, root):
    problem = missing(root)
    if problem:
        print(f"container_test.py: skipped: {problem}")
        return 77
    spent = Spent()
    with contextlib.closing(Engine(tempfile.mkdtemp(prefix="cuvmm-container-test-", dir="/var/tmp"))) as engine:
        engine.make_base(root)
        engine.build(wheel)
        run_project(engine)
        run_where_little_can_be_written(engine)
        look_inside(engine)
    print(f"the container recipe works; all of it in {spent}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
