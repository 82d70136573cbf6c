// SPDX-License-Identifier: Apache-2.0
// check() for any intercepted call, by its type.
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
// No rule here is about the shape of an array: shapes belong to the documentation of textures.
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
