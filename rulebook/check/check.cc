// SPDX-License-Identifier: Apache-2.0
// Any call of the vocabulary, by its type.
#include "rulebook/check/check.h"

#include <type_traits>

#include "api/visit_call.h"
#include "rulebook/check/touch.h"

namespace cuvmm {

Violations check(const Model&, const calls::CtxDestroy&, const Facts&) { return {}; }
Violations check(const Model&, const calls::DevicePrimaryCtxRelease&, const Facts&) { return {}; }
Violations check(const Model&, const calls::DevicePrimaryCtxReset&, const Facts&) { return {}; }
Violations check(const Model&, const calls::CtxDetach&, const Facts&) { return {}; }
Violations check(const Model&, const calls::GreenCtxDestroy&, const Facts&) { return {}; }
// What shapes an array may have is a matter of textures; no rule here is about it.
Violations check(const Model&, const calls::ArrayCreate&, const Facts&) { return {}; }
Violations check(const Model&, const calls::Array3DCreate&, const Facts&) { return {}; }
Violations check(const Model&, const calls::MipmappedArrayCreate&, const Facts&) { return {}; }

Violations check(const Model& model, const Call& any, const Facts& facts) {
  return visit_call<Violations>(any, [&]<class CallStruct>(const CallStruct& call) -> Violations {
    if constexpr (!CallStruct::kIntercepted || kOrdersWork<CallStruct>) {
      return {};
    } else if constexpr (checked_by_itself<CallStruct>) {
      return check(model, call, facts);
    } else {
      Touch touched[kMaxTouches];
      const std::size_t count = touches(call, touched);
      return check_touches(model, CallStruct::kEntryPoint, touched, count, facts);
    }
  });
}

}  // namespace cuvmm
