# SPDX-License-Identifier: Apache-2.0
"""Prints how long a workload's own work took, without imports and start-up: `work_seconds=1.234`."""

import contextlib
import time


@contextlib.contextmanager
def work():
    start = time.perf_counter()
    yield
    print(f"work_seconds={time.perf_counter() - start:.4f}", flush=True)
