# SPDX-License-Identifier: Apache-2.0
"""cuda.core 1.2.2: closing a DeviceMemoryResource takes no peer's access away, as its call is always refused.

    cuvmm run --emulate --devices 2 -- python3 core_pool_close_keeps_peers.py

It asks for no access of all devices in one cuMemPoolSetAccess, the pool's own device among them. That device's access
cannot be taken away, so the driver answers CUDA_ERROR_INVALID_DEVICE and changes nothing; nobody looks at the answer.
"""

from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions

device = Device(0)
device.set_current()
pool = DeviceMemoryResource(device, DeviceMemoryResourceOptions(max_size=64 << 20))
pool.peer_accessible_by = [1]
pool.close()
