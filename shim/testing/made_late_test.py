# SPDX-License-Identifier: Apache-2.0
"""The values of the shim that are made at the first call that needs them.

A child that is forked while another thread makes such a value finds the value half made, and waits
without end. So each new value needs a reason why that cannot happen.
"""

import re
import subprocess
import sys

ALLOWED = {
    "Process::get()": "made as the shim is loaded",
    "start_folder": "asked for as the shim is loaded",
    "object_table()": "asked for as the shim is loaded",
    "described_refusals()": "asked for as the shim is loaded",
    "process_states()": "asked for as the shim is loaded",
    "(anonymous namespace)::table()": "asked for as the shim is loaded",
    "nvtx::(anonymous namespace)::registered()": "made under a lock that a fork takes",
    "nvtx::(anonymous namespace)::lists()": "made under a lock that a fork takes",
    "nvtx::(anonymous namespace)::texts()": "made under a lock that a fork takes",
    "nvtx::(anonymous namespace)::next_tool(": "once a process, where NVTX attaches",
    "(anonymous namespace)::error_name(": "only where there is no driver",
}

names = subprocess.run(["nm", "-C", sys.argv[1]], check=True, capture_output=True, text=True).stdout
made = re.findall(r"guard variable for cuvmm::(?:shim::)?(.*)", names)
unexplained = [name for name in made if not any(name.startswith(known) for known in ALLOWED)]
assert any(name.startswith("Process::get()") for name in made), "the library has no names"
assert not unexplained, unexplained
