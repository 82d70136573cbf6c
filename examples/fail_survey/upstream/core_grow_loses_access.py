# SPDX-License-Identifier: Apache-2.0
"""cuda.core 1.2.2: after modify_allocation() failed, the buffer that it left "not modified" cannot be accessed.

    cuvmm run --emulate --fail cuMemCreate@2=OUT_OF_MEMORY -- python3 core_grow_loses_access.py

The rollback maps the old memory again, without cuMemSetAccess. No cuvmm is needed where memory really runs out.
"""

import sys

from cuda.bindings import driver
from cuda.core import Device, VirtualMemoryResource, VirtualMemoryResourceOptions

device = Device(0)
device.set_current()
resource = VirtualMemoryResource(device, VirtualMemoryResourceOptions(handle_type=None))
buffer = resource.allocate(2 << 20)
# The range behind it is taken, so that it has to move.
driver.cuMemAddressReserve(2 << 20, 0, int(buffer.handle) + (2 << 20), 0)
try:
    resource.modify_allocation(buffer, 4 << 20)
except Exception as error:
    print("growing:", type(error).__name__, error)
(code,) = driver.cuMemsetD8(int(buffer.handle), 7, 16)
print("cuMemsetD8 of the buffer:", code.name)
sys.exit(0 if code == driver.CUresult.CUDA_SUCCESS else 1)
