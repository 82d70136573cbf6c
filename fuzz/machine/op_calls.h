// SPDX-License-Identifier: Apache-2.0
// The entry points behind ops.def: the call of an op as its struct, and all calls as types.
#pragma once

#include "api/calls.h"
#include "fuzz/ops/endpoint_sources.h"
#include "fuzz/ops/further_sources.h"

namespace cuvmm::fuzz {

namespace source {
// In the namespace of the sources, because ops.def names them without it.
#define CUVMM_FUZZ_PARAMETER(parameter, ...) \
  .parameter = as<decltype(Struct::parameter)>(__VA_ARGS__::value(op, operands)),
#define CUVMM_FUZZ_VISIT(Call, ...)                                          \
  {                                                                          \
    using Struct = calls::Call;                                              \
    return visit(Struct{CUVMM_FOR_EACH(CUVMM_FUZZ_PARAMETER, __VA_ARGS__)}); \
  }

/// Calls visit(struct) with the entry point that the op calls. The struct's pointers point into the
/// memory of `operands`. Returns NOT_SUPPORTED for context and close, which are no entry points.
template <class Visit>
CUresult visit_call(const Op& op, const Operands& operands, Visit&& visit) {
#define CUVMM_FUZZ_OP_ALSO(which, also, Call, ...) \
  if (op.code == Code::k##which && op.extra == also) CUVMM_FUZZ_VISIT(Call, __VA_ARGS__)
#include "fuzz/ops/ops.def"
  switch (op.code) {
#define CUVMM_FUZZ_OP(which, who, makes, Call, ...) \
  case Code::k##which:                              \
    CUVMM_FUZZ_VISIT(Call, __VA_ARGS__)
#include "fuzz/ops/ops.def"
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}
#undef CUVMM_FUZZ_VISIT
#undef CUVMM_FUZZ_PARAMETER
}  // namespace source

using source::visit_call;

/// Calls visit.operator()<code, CallStruct>() for each entry point that ops call.
template <class Visit>
void each_op_call(Visit&& visit) {
#define CUVMM_FUZZ_OP(code, who, makes, Call, ...) \
  visit.template operator()<Code::k##code, calls::Call>();
#define CUVMM_FUZZ_OP_ALSO(code, extra, Call, ...) \
  visit.template operator()<Code::k##code, calls::Call>();
#include "fuzz/ops/ops.def"
}

}  // namespace cuvmm::fuzz
