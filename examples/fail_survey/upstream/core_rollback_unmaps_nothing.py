# SPDX-License-Identifier: Apache-2.0
"""cuda.core 1.2.2: VirtualMemoryResource.allocate() unmaps an address that was never mapped.

    cuvmm run --emulate --fail cuMemMap@1=OUT_OF_MEMORY! -- python3 core_rollback_unmaps_nothing.py

The undo of cuMemMap is registered before its result is looked at.
"""

from cuda.core import Device, VirtualMemoryResource, VirtualMemoryResourceOptions

device = Device(0)
device.set_current()
try:
    VirtualMemoryResource(device, VirtualMemoryResourceOptions(handle_type=None)).allocate(2 << 20)
except Exception as error:
    print(type(error).__name__, error)
