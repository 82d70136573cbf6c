# SPDX-License-Identifier: Apache-2.0
"""The gate of api/multicast.h for Python code: tells which functions can make or use a multicast team."""
import re


def without_abi(name):
    """The name without the suffixes of its ABIs, as in api/multicast.h."""
    return re.sub(r"_v\d+$", "", re.sub(r"(_pt[sd][sz])+$", "", name))


class Gate:
    """Reads the text of api/entry_points.def."""

    def __init__(self, table):
        self.marks = {"cu" + name for name in re.findall(r"^CUVMM_MULTICAST\((\w+)\)", table, re.M)}
        self.families = tuple("cu" + name for name in re.findall(r"^CUVMM_MULTICAST_FAMILY\((\w+)\)", table, re.M))
        self.bases = {without_abi(mark) for mark in self.marks}

    def holds(self, name):
        """Whether the gate keeps the function with this name, such as "cuMulticastBindMem_v2", from a real driver."""
        return without_abi(name) in self.bases or name.startswith(self.families) or "Multicast" in name
