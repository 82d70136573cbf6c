# SPDX-License-Identifier: Apache-2.0
"""Runs commands as root in a small system in a folder (made by mmdebstrap), by chroot. An overlay takes their writes and
is deleted afterwards, so the folder itself does not change."""
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

# Runs in a mount namespace of its own, with its own /proc, so that no mount stays behind.
INSIDE = """
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/merged"
mount -t proc proc "$2/merged/proc"
merged=$2/merged
shift 2
exec chroot "$merged" "$@"
"""


def output(*command, status=0, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    assert result.returncode == status, f"{command} ended with {result.returncode}, not {status}\n{result.stdout}"
    return result.stdout


def processor_seconds():
    """The processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Spent:
    """A text with the seconds since the object was made, and the processor seconds, which a busy machine changes less."""

    def __init__(self):
        self.begun, self.processor = time.monotonic(), processor_seconds()

    def __str__(self):
        return f"{time.monotonic() - self.begun:.1f} s ({processor_seconds() - self.processor:.1f} s of a processor)"


class BareRoot:
    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.scratch = tempfile.mkdtemp(prefix="cuvmm-root-")
        for name in ("upper", "work", "merged"):
            os.mkdir(os.path.join(self.scratch, name))
        if not os.path.isdir(os.path.join(self.root, "proc")):
            os.mkdir(os.path.join(self.scratch, "upper", "proc"))
        self.copy("/etc/resolv.conf", "/etc/resolv.conf")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch)

    def copy(self, source, target):
        """Copies a file or folder of this machine to a path in the root."""
        place = os.path.join(self.scratch, "upper", target.lstrip("/"))
        folder = os.path.dirname(target)
        while folder != "/":  # a new folder gets the mode of the one below the overlay
            there = os.path.join(self.scratch, "upper", folder.lstrip("/"))
            os.makedirs(there, exist_ok=True)
            below = os.path.join(self.root, folder.lstrip("/"))
            if os.path.isdir(below):
                os.chmod(there, os.stat(below).st_mode)
            folder = os.path.dirname(folder)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, place)

    def run(self, status, *command, network=False, environment=()):
        """Runs the command, which must end with `status`. Returns its output. Without `network`, it runs in an empty network namespace."""
        spaces = ["unshare", "--mount", "--pid", "--fork"] + ([] if network else ["--net"])
        variables = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C",
                     "PIP_BREAK_SYSTEM_PACKAGES": "1", "DEBIAN_FRONTEND": "noninteractive", **dict(environment)}
        return output(*spaces, "sh", "-c", INSIDE, "sh", self.root, self.scratch, *command, status=status, env=variables)

    def apt(self, *packages):
        """Installs by apt-get: names, or paths in the root."""
        self.run(0, "apt-get", "-q", "update", network=True)
        return self.run(0, "apt-get", "-q", "install", "-y", "--no-install-recommends", *packages, network=True)

    def name(self):
        system = re.search(r'PRETTY_NAME="(.*)"', self.run(0, "sh", "-c", "cat /etc/os-release || true"))
        glibc = re.search(r"\d+\.\d+$", self.run(0, "ldd", "--version").splitlines()[0])[0]
        return f"{system[1] if system else 'a system without a name'}, glibc {glibc}"
