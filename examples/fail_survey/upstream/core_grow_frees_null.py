# SPDX-License-Identifier: Apache-2.0
"""cuda.core 1.2.2: modify_allocation() frees address 0 when the range behind the buffer cannot be reserved.

    cuvmm run --emulate --fail cuMemAddressReserve@2=OUT_OF_MEMORY -- python3 core_grow_frees_null.py

The slow path, made for this case, is never reached: cuMemAddressFree(0, size) answers INVALID_VALUE first.
"""

import sys

from cuda.core import Device, VirtualMemoryResource, VirtualMemoryResourceOptions

device = Device(0)
device.set_current()
resource = VirtualMemoryResource(device, VirtualMemoryResourceOptions(handle_type=None))
buffer = resource.allocate(2 << 20)
try:
    buffer = resource.modify_allocation(buffer, 4 << 20)
    print("grown to", buffer.size)
except Exception as error:
    print(type(error).__name__, error)
    sys.exit(1)
