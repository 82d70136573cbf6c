// SPDX-License-Identifier: Apache-2.0
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_share_test {
namespace {

int fd_out;
Handle handle_out;

Violations import(World& w, void* os_handle, unsigned type = 1,
                  Facts::Answer valid = Facts::Answer::kYes, Handle* out = &handle_out,
                  Facts::Answer kind = Facts::Answer::kUnknown) {
  Facts facts;
  facts.sharing.descriptor_valid = valid;
  facts.sharing.descriptor_kind = kind;
  return check(w.model,
               calls::MemImportFromShareableHandle{
                   .handle = out,
                   .osHandle = os_handle,
                   .shHandleType = static_cast<CUmemAllocationHandleType>(type)},
               facts);
}
void* fd(int number) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number)); }
Handle exportable(World& w) { return w.create(0x100, 1, device_prop(0, 1)); }

std::vector<RuleCase> cases() {
  return {
      {Rule::kExportFdLeak,
       [](World& w, bool broken) {
         w.export_fd(exportable(w), 7);
         w.release(0x100);
         return broken ? check_exit(w.model, [](const Export&) { return true; })
                       : check_exit(w.model, [](const Export&) { return false; });
       }},
      {Rule::kExportFdLeak,  // no leak while a mapping keeps the memory alive
       [](World& w, bool broken) {
         w.export_fd(exportable(w), 7);
         w.reserve(kBase, 1);
         w.map(kBase, 1, 0x100);
         w.release(0x100);
         if (broken) w.unmap(kBase, 1);
         return check_exit(w.model, [](const Export&) { return true; });
       }},
      {Rule::kExportFdLeak,  // the driver has reused the handle
       [](World& w, bool broken) {
         w.export_fd(exportable(w), 7);
         if (broken) w.release(0x100);
         if (broken) w.create(0x100, 1);
         w.reserve(kBase, 1);
         w.map(kBase, 1, 0x100);
         return check_exit(w.model, [](const Export&) { return true; });
       }},
      {Rule::kImportDescriptorValid,  // the address of a descriptor in place of its value
       [](World& w, bool broken) {
         return import(w, broken ? static_cast<void*>(&fd_out) : fd(5));
       }},
      {Rule::kImportLeak,
       [](World& w, bool broken) {
         const Handle h = w.import(0x200, 1);
         if (!broken) w.release(h);
         return check_exit(w.model, [](const Export&) { return false; });
       }},
  };
}
const ListedCases kListed(cases);

}  // namespace
}  // namespace cuvmm::testing::check_share_test
