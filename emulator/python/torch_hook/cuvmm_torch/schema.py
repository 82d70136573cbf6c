# SPDX-License-Identifier: Apache-2.0
"""The facts about an operator that its schema tells, and those that it should tell and does not."""

from __future__ import annotations

import dataclasses

# Operators that change arguments which their schemas do not mark.
_UNMARKED_WRITES = {
    "aten::native_batch_norm": ("running_mean", "running_var"),
    "aten::native_batch_norm.out": ("running_mean", "running_var"),
    "aten::cudnn_batch_norm": ("running_mean", "running_var"),
    "aten::batch_norm_gather_stats": ("running_mean", "running_var"),
    "aten::batch_norm_gather_stats_with_counts": ("running_mean", "running_var"),
    "aten::batch_norm_update_stats": ("running_mean", "running_var"),
    "aten::rrelu_with_noise": ("noise",),
    "aten::rrelu_with_noise_": ("noise",),
    "aten::_fused_adam_": ("state_steps",),
    "aten::_fused_adam_.tensor_lr": ("state_steps",),
    "aten::_fused_adamw_": ("state_steps",),
    "aten::_fused_adamw_.tensor_lr": ("state_steps",),
    "aten::_fused_adagrad_.tensor_lr": ("state_steps",),
}


@dataclasses.dataclass(frozen=True)
class Facts:
    """The facts about an operator that a caller needs to run it elsewhere."""

    name: str  # "aten::add_.Tensor"
    arguments: tuple[str, ...]  # in the order of the schema
    written: frozenset[str]  # the arguments that the operator changes
    returns: tuple[str | None, ...]  # for each result the argument that it is, or None for a new tensor
    view: bool  # the result shares the memory of an argument, and nothing is changed
    random: bool  # the operator draws random numbers
    generator: str | None  # the argument that names the generator
    waits: bool  # the caller needs values of the device at once: the size of a result, or a bool
    tensors: frozenset[str]  # the arguments that are single tensors


def facts_of(operator) -> Facts:
    """Reads the schema of a torch._ops.OpOverload."""
    schema = operator._schema
    name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
    by_alias = {}
    written = set(_UNMARKED_WRITES.get(name, ()))
    generator = None
    for argument in schema.arguments:
        if argument.alias_info is not None:
            for alias in argument.alias_info.before_set:
                by_alias[alias] = argument.name
            if argument.alias_info.is_write:
                written.add(argument.name)
        if str(argument.type) in ("Optional[Generator]", "Generator"):
            generator = argument.name
    returns = tuple(_argument_of(result, by_alias) for result in schema.returns)
    return Facts(
        name=name,
        arguments=tuple(argument.name for argument in schema.arguments),
        written=frozenset(written),
        returns=returns,
        view=not written and any(result is not None for result in returns),
        random=generator is not None or any("nondeterministic_seeded" in str(tag) for tag in operator.tags),
        generator=generator,
        waits=name == "aten::equal" or any("dynamic_output_shape" in str(tag) for tag in operator.tags),
        tensors=frozenset(argument.name for argument in schema.arguments if str(argument.type) == "Tensor"),
    )


def _argument_of(result, by_alias: dict[str, str]) -> str | None:
    if result.alias_info is None:
        return None
    return next((by_alias[alias] for alias in result.alias_info.before_set if alias in by_alias), None)
