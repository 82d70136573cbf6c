// SPDX-License-Identifier: Apache-2.0
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_share_test {
namespace {

int fd_out;
Handle handle_out;

Violations export_(World& w, Handle handle, unsigned type = 1, unsigned long long flags = 0,
                   void* out = &fd_out) {
  return check(w.model, calls::MemExportToShareableHandle{
                            .shareableHandle = out,
                            .handle = handle,
                            .handleType = static_cast<CUmemAllocationHandleType>(type),
                            .flags = flags});
}
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
      {Rule::kExportOutNonnull,
       [](World& w, bool broken) {
         return export_(w, exportable(w), 1, 0, broken ? nullptr : &fd_out);
       }},
      {Rule::kExportFlagsZero,
       [](World& w, bool broken) { return export_(w, exportable(w), 1, broken ? 1 : 0); }},
      {Rule::kExportHandleNonzero,
       [](World& w, bool broken) { return export_(w, broken ? 0 : exportable(w)); }},
      {Rule::kExportHandleValid,
       [](World& w, bool broken) { return export_(w, broken ? 0x1234 : exportable(w)); }},
      {Rule::kExportHandleAlive,
       [](World& w, bool broken) {
         const Handle h = exportable(w);
         if (broken) w.release(h);
         return export_(w, h);
       }},
      {Rule::kExportHandleReferenced,
       [](World& w, bool broken) {
         const Handle h = exportable(w);
         w.reserve(kBase, 1);
         w.map(kBase, 1, h);
         if (broken) w.release(h);
         return export_(w, h);
       }},
      {Rule::kExportOneType,
       [](World& w, bool broken) {
         w.model.platform().handle_types = 3;
         return export_(w, w.create(0x100, 1, device_prop(0, 3)), broken ? 3 : 1);
       }},
      {Rule::kExportRequestedType,
       [](World& w, bool broken) {
         return export_(w, w.create(0x100, 1, device_prop(0, broken ? 0 : 1)));
       }},
      {Rule::kExportNotImported,
       [](World& w, bool broken) {
         return export_(w, broken ? w.import(0x200, 1) : exportable(w));
       }},
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
      {Rule::kImportHandleNonnull,
       [](World& w, bool broken) {
         return import(w, fd(5), 1, Facts::Answer::kYes, broken ? nullptr : &handle_out);
       }},
      {Rule::kImportTypeKnown,
       [](World& w, bool broken) { return import(w, fd(5), broken ? 9 : 1); }},
      {Rule::kImportTypeSupported,
       [](World& w, bool broken) { return import(w, fd(5), broken ? 2 : 1); }},
      {Rule::kImportDescriptorNonzero,
       [](World& w, bool broken) { return import(w, fd(broken ? 0 : 5)); }},
      {Rule::kImportDescriptorValid,
       [](World& w, bool broken) {
         return import(w, fd(5), 1, broken ? Facts::Answer::kNo : Facts::Answer::kYes);
       }},
      {Rule::kImportDescriptorKind,
       [](World& w, bool broken) {
         const auto valid = broken ? Facts::Answer::kNo : Facts::Answer::kYes;
         return import(w, fd(5), 1, valid, &handle_out,
                       broken ? Facts::Answer::kNo : Facts::Answer::kUnknown);
       }},
      {Rule::kImportDescriptorValid,  // the address of a descriptor in place of its value
       [](World& w, bool broken) {
         return import(w, broken ? static_cast<void*>(&fd_out) : fd(5));
       }},
      {Rule::kImportFabricNonnull,
       [](World& w, bool broken) {
         w.model.platform().handle_types = 9;
         return broken ? import(w, nullptr, 8) : import(w, fd(5), 1);
       }},
      {Rule::kImportFabricValid,
       [](World& w, bool broken) {
         static unsigned char bytes[64];
         w.model.platform().handle_types = 9;
         return broken ? import(w, bytes, 8) : import(w, fd(5), 1);
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
