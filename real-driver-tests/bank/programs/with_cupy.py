# SPDX-License-Identifier: Apache-2.0
"""CuPy, with its pool, with the driver's pool, or with none (BANK_CUPY_POOL)."""

import os

import cupy

POOLS = {"pool": cupy.cuda.MemoryPool, "async": cupy.cuda.MemoryAsyncPool, "none": lambda: None}
POOL = POOLS[os.environ.get("BANK_CUPY_POOL", "pool")]()
cupy.cuda.set_allocator(POOL.malloc if POOL else None)


def _numbers(*shape: int):
    return cupy.random.RandomState(39).standard_normal(shape, dtype=cupy.float32)


def arrays():
    """Products, sorting, reductions, and a kernel in text, with memory given back in between."""
    scale = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * y + 1", "bank_scale")
    outputs = []
    for step in range(20):
        matrix = _numbers(64, 64 + step)
        product = matrix @ matrix.T
        outputs += [cupy.sort(product.ravel())[:32], scale(product, product).sum(axis=0), matrix.mean(), matrix.argmax(axis=1)]
        del matrix, product
        if POOL and step % 5 == 4:
            POOL.free_all_blocks()
    return [cupy.asnumpy(value) for value in outputs]


def streams():
    """Streams hand arrays to each other, by events."""
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    outputs = []
    for step in range(30):
        with first:
            data = cupy.full((1 + step % 5, 10_000), step, dtype=cupy.float32)
            ready = first.record()
        with second:
            second.wait_event(ready)
            outputs.append((data * 2).sum())
            done = second.record()
        first.wait_event(done)
        with first:
            del data
    first.synchronize()
    second.synchronize()
    return [cupy.asnumpy(value) for value in outputs]


def graphs():
    """Captures a stream's work and launches it several times, with other contents each time."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        held, out = cupy.zeros((64, 64), dtype=cupy.float32), cupy.zeros((64, 64), dtype=cupy.float32)
        cupy.multiply(held, 3, out=out)  # loads its kernels before the capture
        cupy.add(out, 1, out=out)
        stream.synchronize()
        stream.begin_capture()
        cupy.multiply(held, 3, out=out)
        cupy.add(out, 1, out=out)
        graph = stream.end_capture()
        outputs = []
        for step in range(5):
            held.fill(step)
            graph.launch(stream)
            outputs.append(out.copy())
        stream.synchronize()
    return [cupy.asnumpy(value) for value in outputs]
