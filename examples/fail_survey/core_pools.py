# SPDX-License-Identifier: Apache-2.0
"""cuda.core's DeviceMemoryResource: a pool, one that other processes may use, peers, exported buffers, streams.

An error is told and survived. Exit code: 0, or 3 after an error that was survived.
"""

import gc
import sys

from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions

MIB = 1 << 20
failed = 0


def attempt(what, function, *arguments, **named):
    global failed
    try:
        result = function(*arguments, **named)
        print(what, flush=True)
        return result
    except Exception as error:
        failed = 3
        print(f"{what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return None


def shared(device, stream) -> None:
    resource = attempt("a pool to share", DeviceMemoryResource, device,
                       DeviceMemoryResourceOptions(ipc_enabled=True, max_size=64 * MIB))
    if resource is None:
        return
    handle = attempt("its descriptor", lambda: resource.allocation_handle)
    buffer = attempt("a buffer of it", resource.allocate, MIB, stream=stream)
    if buffer is not None:
        description = attempt("export the buffer", lambda: buffer.ipc_descriptor)
        attempt("close the shared buffer", buffer.close, stream)
        del description
    del handle
    attempt("close the shared pool", resource.close)


def main() -> None:
    device = Device(0)
    device.set_current()
    stream = attempt("a stream", device.create_stream)
    if stream is None:
        sys.exit(3)
    own = attempt("a pool", DeviceMemoryResource, device, DeviceMemoryResourceOptions(max_size=64 * MIB))
    if own is not None:
        attempt("peers", setattr, own, "peer_accessible_by", [1])
        buffers = [attempt("a buffer", own.allocate, (i + 1) * MIB, stream=stream) for i in range(2)]
        for buffer in buffers:
            if buffer is not None:
                attempt("close a buffer", buffer.close, stream)
        attempt("synchronize", stream.sync)
        attempt("close the pool", own.close)
    shared(device, stream)
    plain = attempt("a buffer of the device's pool", device.allocate, MIB, stream=stream)
    if plain is not None:
        attempt("close it", plain.close, stream)
    attempt("synchronize at the end", stream.sync)
    attempt("close the stream", stream.close)
    gc.collect()
    driver.cuCtxSynchronize()  # a call after all: what is left now is a leak
    sys.exit(failed)


if __name__ == "__main__":
    main()
