# SPDX-License-Identifier: Apache-2.0
"""JAX. Its allocator is chosen by XLA_PYTHON_CLIENT_ALLOCATOR."""

import jax
import jax.numpy as jnp
import numpy


def train():
    """Steps of gradient descent, each compiled and with its inputs given up."""
    keys = jax.random.split(jax.random.key(39), 3)
    parameters = {"w": jax.random.normal(keys[0], (64, 128)) / 8, "v": jax.random.normal(keys[1], (128, 8)) / 8}
    x, labels = jax.random.normal(keys[2], (256, 64)), jnp.arange(256) % 8

    def loss_of(p):
        scores = jax.nn.log_softmax(jnp.tanh(x @ p["w"]) @ p["v"])
        return -scores[jnp.arange(256), labels].mean()

    @jax.jit
    def step(p):
        loss, slope = jax.value_and_grad(loss_of)(p)
        return jax.tree.map(lambda value, by: value - 0.1 * by, p, slope), loss

    losses = []
    for _ in range(20):
        parameters, loss = step(parameters)
        losses.append(float(loss))
    return losses, {name: numpy.asarray(value) for name, value in parameters.items()}


def copies():
    """Arrays are copied to the host and deleted at once: only the copies to pageable memory make the host wait."""
    double = jax.jit(lambda value: value * 2 + 1)
    outputs = []
    for step in range(40):
        value = double(jnp.full((1 + step % 7, 5000), step, dtype=jnp.float32))
        value.copy_to_host_async()
        outputs.append(numpy.asarray(value).sum())
        value.delete()
        outputs.append(float(double(jnp.float32(step))))
        outputs.append(numpy.asarray(jax.device_get(double(jnp.arange(step + 1)))))
    return outputs
