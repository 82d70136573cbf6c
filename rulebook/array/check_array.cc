// SPDX-License-Identifier: Apache-2.0
// Arrays that are made, asked for their levels, and destroyed.
#include "rulebook/array/check_region.h"

namespace cuvmm {
using namespace detail;

namespace {

Violations check_destroy(const Model& model, const void* array, const Facts& facts, Rule once) {
  Collector out;
  if (!not_initialized(out, facts)) check_ended(out, model, array, once);
  return out.take();
}

}  // namespace

bool detail::check_ended(Collector& out, const Model& model, const void* array, Rule rule) {
  const auto handle = reinterpret_cast<std::uintptr_t>(array);
  if (model.arrays().find(handle)) return false;
  const auto ended_object = model.tombstones().find(ObjectRef::Kind::kArray, handle);
  if (!ended_object) return false;
  out.add(rule, "array " + hex_text(handle) + " was destroyed, or its context was",
          model.platform().complete)
      .objects.push_back(*ended_object);
  return true;
}

Violations check(const Model& model, const calls::MipmappedArrayGetLevel& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (check_ended(out, model, call.hMipmappedArray, Rule::kLevelArrayAlive)) return out.take();
  const ArrayObject* const array =
      model.arrays().find(reinterpret_cast<std::uintptr_t>(call.hMipmappedArray));
  if (array && array->mipmapped && call.level >= array->levels) {
    // By its wording, the documentation allows a level equal to the number of levels, so the
    // finding needs the driver's refusal.
    out.add(Rule::kLevelExists,
            "level is " + std::to_string(call.level) + ", of an array of " +
                std::to_string(array->levels) + " levels",
            call.level > array->levels)
        .objects.push_back(ref(*array));
  }
  return out.take();
}

Violations check(const Model& model, const calls::ArrayDestroy& call, const Facts& facts) {
  return check_destroy(model, call.hArray, facts, Rule::kArrayDestroyOnce);
}

Violations check(const Model& model, const calls::MipmappedArrayDestroy& call, const Facts& facts) {
  return check_destroy(model, call.hMipmappedArray, facts, Rule::kMipmapDestroyOnce);
}

}  // namespace cuvmm
