// SPDX-License-Identifier: Apache-2.0
#include "rulebook/testing/multicast_world.h"

namespace cuvmm::testing::check_multicast_bind_test {
namespace {

std::vector<RuleCase> cases() {
  return {
      {Rule::kMcBindRecommended,
       [](World& w, bool broken) {
         MulticastObject known;
         known.handle = w.multicast(kObject);
         known.team = 1;
         known.size = 4 * kGranule;
         known.granularity = kGranule;
         known.recommended = (broken ? 2 : 1) * kGranule;
         known.added = 1;
         w.model.import_multicast(known, w.at());
         w.create(kMemory, 2, device_prop(0, 1));
         return check(w.model, bind_call());
       }},
      {Rule::kMcBindMemoryAligned,  // a device that needs only 256 bytes of alignment
       [](World& w, bool broken) {
         w.model.platform().unaligned_binds = 0b01;
         return bind(w, broken, [](auto& c) { c.memOffset = 128; });
       }},
      // Another device needs only 256 bytes, but the memory is not its own.
      {Rule::kMcBindMemoryAligned,
       [](World& w, bool broken) {
         w.model.platform().unaligned_binds = broken ? 0b10 : 0b01;
         ready(w);
         calls::MulticastBindMem call = bind_call();
         call.memOffset = 256;
         return check(w.model, call);
       }},
      {Rule::kMcBindInsideObject,  // the granule behind the binding is outside
       [](World& w, bool broken) {
         w.model.platform().unaligned_binds = 0b11;
         ready(w);
         calls::MulticastBindMem call = bind_call();
         call.memOffset = 256;
         call.mcOffset = (broken ? 3 : 2) * kGranule;
         return check(w.model, call);
       }},
      {Rule::kMcBindVacant,  // the granule behind an earlier binding
       [](World& w, bool broken) {
         w.model.platform().unaligned_binds = 0b11;
         ready(w);
         calls::MulticastBindMem first = bind_call();
         first.memOffset = 256;
         w.accept(first);
         calls::MulticastBindMem call = bind_call();
         call.mcOffset = (broken ? 1 : 2) * kGranule;
         return check(w.model, call);
       }},
      {Rule::kMcBindVacant,  // the granule behind the new binding
       [](World& w, bool broken) {
         w.model.platform().unaligned_binds = 0b11;
         ready(w);
         w.bind(kObject, 1, kMemory);
         calls::MulticastBindMem call = bind_call();
         call.memOffset = broken ? 256 : 0;
         return check(w.model, call);
       }},
      {Rule::kMcBindUnalignedFew,
       [](World& w, bool broken) {
         w.model.platform().complete = false;
         w.model.platform().unaligned_binds = 0b11;
         ready(w);
         calls::MulticastBindMem call = bind_call();
         call.memOffset = broken ? 256 : 0;
         return check(w.model, call);
       }},
      {Rule::kMcClique,
       [](World& w, bool broken) {
         w.model.platform().cliques = {{{CU_CLIQUE_TYPE_MULTICAST_POINTER, 1}},
                                       {{CU_CLIQUE_TYPE_MULTICAST_POINTER, broken ? 2u : 1u}}};
         ready(w);
         return check(w.model, bind_call());
       }},
      {Rule::kMcClique,  // the check of a mapping
       [](World& w, bool broken) {
         w.model.platform().cliques = {{{CU_CLIQUE_TYPE_MULTICAST_POINTER, 1}},
                                       {{CU_CLIQUE_TYPE_MULTICAST_POINTER, broken ? 2u : 1u}}};
         ready(w);
         w.reserve(kBase, 4);
         return check(w.model,
                      calls::MemMap{.ptr = kBase, .size = 4 * kGranule, .handle = kObject});
       }},
      {Rule::kMcBindDevice,  // a bind by address, with a device that does not exist
       [](World& w, bool broken) {
         ready(w);
         w.reserve(kBase, 2);
         w.map(kBase, 2, kMemory);
         return check(
             w.model,
             calls::MulticastBindAddr_v2{
                 .mcHandle = kObject, .dev = broken ? 7 : 0, .memptr = kBase, .size = kGranule});
       }},
      {Rule::kMcBoundMemoryEnds,  // the memory ends with its last mapping
       [](World& w, bool broken) {
         ready(w);
         w.reserve(kBase, 2);
         w.map(kBase, 2, kMemory);
         w.bind(kObject, 0, kMemory, 2);
         if (broken) w.release(kMemory);
         return check(w.model, calls::MemUnmap{.ptr = kBase, .size = 2 * kGranule});
       }},

  };
}
const ListedCases kListed(cases);

}  // namespace
}  // namespace cuvmm::testing::check_multicast_bind_test
