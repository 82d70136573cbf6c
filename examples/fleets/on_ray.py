# SPDX-License-Identifier: Apache-2.0
"""The shards of one job on Ray: on_ray.py SHARDS DIR JOB-OPTIONS..., such as 100 results --conformance.

DIR is a folder that all machines of the cluster see. Shards that no machine could do are tried again elsewhere.
"""

import os
import socket
import subprocess
import sys

import ray

UNFIT, UNFINISHED = 3, 75


@ray.remote(num_gpus=0 if "--emulate" in sys.argv else 1, max_retries=3)
def shard(index: int, count: int, folder: str, options: list) -> tuple:
    """Exit code and machine; a worker that dies is started again by Ray."""
    command = [os.environ.get("CUVMM", "cuvmm"), "work", "run", *options, "--shard", f"{index}/{count}", "--out", folder]
    return subprocess.run(command, check=False).returncode, socket.gethostname()


def main() -> int:
    count, folder, options = int(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    ray.init()
    left, worst = list(range(1, count + 1)), 0
    for _ in range(3):
        done = ray.get([shard.remote(index, count, folder, options) for index in left])
        for index, (code, machine) in zip(left, done):
            if code == UNFIT:
                print(f"{machine} is unfit for shard {index}/{count}", file=sys.stderr)
            elif code != UNFINISHED:
                worst = max(worst, code)
        left = [index for index, (code, _) in zip(left, done) if code in (UNFIT, UNFINISHED)]
        if not left:
            break
    merged = subprocess.run([os.environ.get("CUVMM", "cuvmm"), "work", "merge", folder], check=False).returncode
    return UNFINISHED if left else max(worst, merged)


if __name__ == "__main__":
    sys.exit(main())
