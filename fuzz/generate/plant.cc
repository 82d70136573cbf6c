// SPDX-License-Identifier: Apache-2.0
// Plants faults: turns a legal call into one that breaks a rule.
#include <algorithm>

#include "fuzz/generate/generator.h"
#include "fuzz/generate/recipe.h"

namespace cuvmm::fuzz {

namespace {

// kRepeat makes the call twice. kMoveFirst makes the call before all other calls that name its
// range.
constexpr Recipe kRecipes[] = {
    {Rule::kReservePtrNonnull, Code::kReserve, How::kChange, &Op::faults, kNullOut},
    {Rule::kReserveSizeGranularity, Code::kReserve, How::kChange, &Op::odd_size, kPage},
    {Rule::kReserveSizePage, Code::kReserve, How::kChange, &Op::odd_size, kByte},
    {Rule::kReserveCapacity, Code::kReserve, How::kChange, &Op::odd_size, kTooLarge},
    {Rule::kReserveAddrGranularity, Code::kReserve, How::kChange, &Op::odd, kPage},
    {Rule::kReserveAddrPage, Code::kReserve, How::kChange, &Op::odd, kByte},
    {Rule::kReserveAddrUser, Code::kReserve, How::kChange, &Op::odd, kTooLarge},
    {Rule::kReserveAlignmentPowerOfTwo, Code::kReserve, How::kChange, &Op::extra, 5},
    {Rule::kReserveAlignmentLimit, Code::kReserve, How::kChange, &Op::extra, 6},
    {Rule::kReserveAlignmentAddressable, Code::kReserve, How::kChange, &Op::extra, 7},
    {Rule::kReserveFlagsZero, Code::kReserve, How::kChange, &Op::flags, 1},
    {Rule::kReserveSizeNonzero, Code::kReserve, How::kChange, &Op::size, 0},
    {Rule::kFreePtrNonnull, Code::kFree, How::kChange, &Op::ref, 0},
    {Rule::kFreeExact, Code::kFree, How::kRepeat},
    {Rule::kFreeUnmapped, Code::kUnmap, How::kMoveFirst},
    {Rule::kCreateHandleNonnull, Code::kCreate, How::kChange, &Op::faults, kNullOut},
    {Rule::kCreatePropNonnull, Code::kCreate, How::kChange, &Op::faults, kNullIn},
    {Rule::kCreateSizeNonzero, Code::kCreate, How::kChange, &Op::size, 0},
    {Rule::kCreateSizeGranularity, Code::kCreate, How::kChange, &Op::odd_size, kPage},
    {Rule::kCreateFits, Code::kCreate, How::kChange, &Op::odd_size, kTebibyte},
    {Rule::kCreateFlagsZero, Code::kCreate, How::kChange, &Op::flags, 1},
    {Rule::kCreateType, Code::kCreate, How::kChange, &Op::extra, 4},
    {Rule::kCreateLocationType, Code::kCreate, How::kChange, &Op::place, kNoType},
    {Rule::kCreateLocationDevice, Code::kCreate, How::kChange, &Op::place, kNoDevice},
    {Rule::kCreateNumaNode, Code::kCreate, How::kChange, &Op::place, kNoNode},
    {Rule::kCreateHandleTypesKnown, Code::kCreate, How::kChange, &Op::value, 16},
    {Rule::kCreateHandleTypesSupported, Code::kCreate, How::kChange, &Op::value, 2},
    {Rule::kCreateFabricChannel, Code::kCreate, How::kChange, &Op::value, 8},
    {Rule::kCreateWin32Metadata, Code::kCreate, How::kChange, &Op::extra, 11},
    {Rule::kCreateCompression, Code::kCreate, How::kChange, &Op::extra, 7},
    {Rule::kCreateRdmaBoolean, Code::kCreate, How::kChange, &Op::extra, 5},
    {Rule::kCreateUsageKnown, Code::kCreate, How::kChange, &Op::extra, 6},
    {Rule::kCreateReservedZero, Code::kCreate, How::kChange, &Op::extra, 8},
    {Rule::kCreateReservedTailZero, Code::kCreate, How::kChange, &Op::extra, 10},
    {Rule::kReleaseHandleNonzero, Code::kRelease, How::kChange, &Op::ref, 0},
    {Rule::kReleasePairing, Code::kRelease, How::kRepeat},
    {Rule::kPropertiesPropNonnull, Code::kProperties, How::kChange, &Op::faults, kNullOut},
    {Rule::kPropertiesHandleNonzero, Code::kProperties, How::kChange, &Op::ref, 0},
    {Rule::kRetainHandleNonnull, Code::kRetain, How::kChange, &Op::faults, kNullOut},
    {Rule::kRetainAddrMapped, Code::kRetain, How::kChange, &Op::at, 250},
    {Rule::kGranularityOutNonnull, Code::kGranularity, How::kChange, &Op::faults, kNullOut},
    {Rule::kGranularityPropNonnull, Code::kGranularity, How::kChange, &Op::faults, kNullIn},
    {Rule::kGranularityOption, Code::kGranularity, How::kChange, &Op::value, 32},
    {Rule::kGranularityPropValid, Code::kGranularity, How::kChange, &Op::place, kNoDevice},
    {Rule::kMapPtrNonnull, Code::kMap, How::kChange, &Op::ref, 0},
    {Rule::kMapVacant, Code::kMap, How::kRepeat},
    {Rule::kMapPtrAligned, Code::kMap, How::kChange, &Op::odd, kPage},
    {Rule::kMapSizeNonzero, Code::kMap, How::kChange, &Op::size, 0},
    {Rule::kMapSizeGranularity, Code::kMap, How::kChange, &Op::odd_size, kPage},
    {Rule::kMapOffsetZero, Code::kMap, How::kChange, &Op::extra, 1},
    {Rule::kMapBounds, Code::kMap, How::kChange, &Op::odd_size, kTebibyte},
    {Rule::kMapHandleNonzero, Code::kMap, How::kChange, &Op::ref2, 0},
    {Rule::kMapFlagsZero, Code::kMap, How::kChange, &Op::flags, 1},
    {Rule::kMapPtrReserved, Code::kMap, How::kChange, &Op::at, 250},
    {Rule::kUnmapPtrReserved, Code::kUnmap, How::kChange, &Op::at, 250},
    {Rule::kUnmapSizeNonzero, Code::kUnmap, How::kChange, &Op::size, 0},
    {Rule::kUnmapInsideReservation, Code::kUnmap, How::kChange, &Op::size, 250},
    {Rule::kUnmapWhole, Code::kUnmap, How::kChange, &Op::odd, kPage},
    {Rule::kUnmapMapped, Code::kUnmap, How::kRepeat},
    {Rule::kAccessPtrNonnull, Code::kSetAccess, How::kChange, &Op::ref, 0},
    {Rule::kAccessSizeNonzero, Code::kSetAccess, How::kChange, &Op::size, 0},
    {Rule::kAccessCountNonzero, Code::kSetAccess, How::kChange, &Op::faults, kNoCount},
    {Rule::kAccessDescNonnull, Code::kSetAccess, How::kChange, &Op::faults, kNullIn},
    {Rule::kAccessFlags, Code::kSetAccess, How::kChange, &Op::value, 2},
    {Rule::kAccessLocationType, Code::kSetAccess, How::kChange, &Op::place, kNoType},
    {Rule::kAccessLocationDevice, Code::kSetAccess, How::kChange, &Op::place, kNoDevice},
    {Rule::kAccessHostLocation, Code::kSetAccess, How::kChange, &Op::place, kHostPlace},
    {Rule::kAccessPtrAligned, Code::kSetAccess, How::kChange, &Op::odd, kPage},
    {Rule::kAccessSizeAligned, Code::kSetAccess, How::kChange, &Op::odd_size, kPage},
    {Rule::kAccessMapped, Code::kSetAccess, How::kChange, &Op::at, 250},
    {Rule::kGetAccessFlagsNonnull, Code::kGetAccess, How::kChange, &Op::faults, kNullOut},
    {Rule::kGetAccessLocationNonnull, Code::kGetAccess, How::kChange, &Op::faults, kNullIn},
    {Rule::kGetAccessLocationValid, Code::kGetAccess, How::kChange, &Op::place, kNoDevice},
    {Rule::kGetAccessPtrNonnull, Code::kGetAccess, How::kChange, &Op::ref, 0},
    {Rule::kGetAccessMapped, Code::kGetAccess, How::kChange, &Op::at, 250},
    {Rule::kExportOutNonnull, Code::kExport, How::kChange, &Op::faults, kNullOut},
    {Rule::kExportFlagsZero, Code::kExport, How::kChange, &Op::flags, 1},
    {Rule::kExportHandleNonzero, Code::kExport, How::kChange, &Op::ref, 0},
    {Rule::kExportOneType, Code::kExport, How::kChange, &Op::value, 3},
    {Rule::kExportRequestedType, Code::kExport, How::kChange, &Op::value, 2},
    {Rule::kImportHandleNonnull, Code::kImport, How::kChange, &Op::faults, kNullOut},
    {Rule::kImportTypeKnown, Code::kImport, How::kChange, &Op::value, 9},
    {Rule::kImportTypeSupported, Code::kImport, How::kChange, &Op::value, 2},
    {Rule::kImportDescriptorNonzero, Code::kImport, How::kChange, &Op::ref, 0},
    {Rule::kImportDescriptorValid, Code::kImport, How::kChange, &Op::extra, 1},
    {Rule::kImportFabricNonnull, Code::kImport, How::kChange, &Op::value, 8},
    {Rule::kRangeOutNonnull, Code::kRangeHandle, How::kChange, &Op::faults, kNullOut},
    {Rule::kRangeType, Code::kRangeHandle, How::kChange, &Op::value, 2},
    {Rule::kRangeFlags, Code::kRangeHandle, How::kChange, &Op::flags, 2},
    {Rule::kRangeAligned, Code::kRangeHandle, How::kChange, &Op::odd_size, kByte},
    {Rule::kRangeMapped, Code::kRangeHandle, How::kChange, &Op::size, 250},
    {Rule::kDataMapped, Code::kUnmap, How::kMoveFirst},
    {Rule::kDataContext, Code::kFill, How::kChange, &Op::actor, 2},
    {Rule::kMemFreeNotVmm, Code::kMemFree, How::kChange, &Op::at, 0},
    {Rule::kExtImportOutNonnull, Code::kExtImport, How::kChange, &Op::faults, kNullOut},
    {Rule::kExtImportDescNonnull, Code::kExtImport, How::kChange, &Op::faults, kNullIn},
    {Rule::kExtImportTypeKnown, Code::kExtImport, How::kChange, &Op::value, 0},
    {Rule::kExtImportTypeSupported, Code::kExtImport, How::kChange, &Op::value, 2},
    {Rule::kExtImportFdValid, Code::kExtImport, How::kChange, &Op::extra, kWild},
    {Rule::kExtImportFdOwned, Code::kExtImport, How::kRepeat},
    {Rule::kExtImportSizeNonzero, Code::kExtImport, How::kChange, &Op::size, 0},
    {Rule::kExtImportSizeExact, Code::kExtImport, How::kChange, &Op::odd_size, kPage},
    {Rule::kExtImportFlagsKnown, Code::kExtImport, How::kChange, &Op::flags, 2},
    {Rule::kExtImportDedicated, Code::kExtImport, How::kChange, &Op::value, 6},
    {Rule::kExtImportReservedZero, Code::kExtImport, How::kChange, &Op::extra, kReservedWord},
    {Rule::kExtImportContext, Code::kExtImport, How::kChange, &Op::actor, 2},
    {Rule::kExtBufferOutNonnull, Code::kExtBuffer, How::kChange, &Op::faults, kNullOut},
    {Rule::kExtBufferDescNonnull, Code::kExtBuffer, How::kChange, &Op::faults, kNullIn},
    {Rule::kExtBufferMemoryNonnull, Code::kExtBuffer, How::kChange, &Op::ref, 0},
    {Rule::kExtBufferMemoryValid, Code::kExtBuffer, How::kChange, &Op::extra, kWild},
    {Rule::kExtBufferMemoryAlive, Code::kExtDestroy, How::kMoveFirst},
    {Rule::kExtBufferFlagsZero, Code::kExtBuffer, How::kChange, &Op::flags, 1},
    {Rule::kExtBufferReservedZero, Code::kExtBuffer, How::kChange, &Op::extra, kReservedWord},
    {Rule::kExtBufferSizeNonzero, Code::kExtBuffer, How::kChange, &Op::size, 0},
    {Rule::kExtBufferBounds, Code::kExtBuffer, How::kChange, &Op::at, 250},
    {Rule::kExtBufferDedicatedOffset, Code::kExtImport, How::kChange, &Op::flags, 1},
    {Rule::kExtBufferAfterDestroy, Code::kExtDestroy, How::kMoveFirst},
    {Rule::kExtBufferFreedOnce, Code::kMemFree, How::kRepeat},
    {Rule::kExtDestroyNonnull, Code::kExtDestroy, How::kChange, &Op::ref, 0},
    {Rule::kExtDestroyValid, Code::kExtDestroy, How::kChange, &Op::extra, kWild},
    {Rule::kExtDestroyOnce, Code::kExtDestroy, How::kRepeat},
    {Rule::kImportDescriptorOwned, Code::kExtImport, How::kMoveFirst},
    {Rule::kMcCreateHandleNonnull, Code::kMcCreate, How::kChange, &Op::faults, kNullOut},
    {Rule::kMcCreatePropNonnull, Code::kMcCreate, How::kChange, &Op::faults, kNullIn},
    {Rule::kMcCreateDevices, Code::kMcCreate, How::kChange, &Op::extra, 0},
    {Rule::kMcCreateSizeNonzero, Code::kMcCreate, How::kChange, &Op::size, 0},
    {Rule::kMcCreateSizeGranularity, Code::kMcCreate, How::kChange, &Op::odd_size, kPage},
    {Rule::kMcCreateHandleTypes, Code::kMcCreate, How::kChange, &Op::value, 16},
    {Rule::kMcCreateFlagsZero, Code::kMcCreate, How::kChange, &Op::flags, 1},
    {Rule::kMcAddDeviceExists, Code::kMcAddDevice, How::kChange, &Op::place, kNoDevice},
    {Rule::kMcAddUnique, Code::kMcAddDevice, How::kRepeat},
    {Rule::kMcAddLimit, Code::kMcCreate, How::kChange, &Op::extra, 1},
    {Rule::kMcHandleNonzero, Code::kMcAddDevice, How::kChange, &Op::ref, 0},
    {Rule::kMcAllAdded, Code::kMcCreate, How::kChange, &Op::extra, 9},
    {Rule::kMcBindFlagsZero, Code::kMcBindMem, How::kChange, &Op::flags, 1},
    {Rule::kMcBindSizeNonzero, Code::kMcBindMem, How::kChange, &Op::size, 0},
    {Rule::kMcBindSizeAligned, Code::kMcBindMem, How::kChange, &Op::odd_size, kPage},
    {Rule::kMcBindOffsetAligned, Code::kMcBindMem, How::kChange, &Op::odd, kPage},
    {Rule::kMcBindMemoryAligned, Code::kMcBindAddr, How::kChange, &Op::odd2, kPage},
    {Rule::kMcBindInsideObject, Code::kMcBindMem, How::kChange, &Op::at, 250},
    {Rule::kMcBindInsideMemory, Code::kMcBindMem, How::kChange, &Op::at2, 250},
    {Rule::kMcBindMemoryNonzero, Code::kMcBindMem, How::kChange, &Op::ref2, 0},
    {Rule::kMcBindMemoryKind, Code::kMcBindAddr, How::kChange, &Op::at2, 250},
    {Rule::kMcBindVacant, Code::kMcBindMem, How::kRepeat},
    {Rule::kMcUnbindDevice, Code::kMcUnbind, How::kChange, &Op::place, kNoDevice},
    {Rule::kMcUnbindSizeNonzero, Code::kMcUnbind, How::kChange, &Op::size, 0},
    {Rule::kMcUnbindAligned, Code::kMcUnbind, How::kChange, &Op::odd, kPage},
    {Rule::kMcUnbindInsideObject, Code::kMcUnbind, How::kChange, &Op::at, 250},
    {Rule::kMcUnbindBound, Code::kMcUnbind, How::kRepeat},
    {Rule::kMcGranularityOutNonnull, Code::kMcGranularity, How::kChange, &Op::faults, kNullOut},
    {Rule::kMcGranularityPropNonnull, Code::kMcGranularity, How::kChange, &Op::faults, kNullIn},
    {Rule::kMcGranularityPropValid, Code::kMcGranularity, How::kChange, &Op::extra, 0},
    {Rule::kMcGranularityOption, Code::kMcGranularity, How::kChange, &Op::value, 32},
    {Rule::kPoolCreateOutNonnull, Code::kPoolCreate, How::kChange, &Op::faults, kNullOut},
    {Rule::kPoolCreatePropsNonnull, Code::kPoolCreate, How::kChange, &Op::faults, kNullIn},
    {Rule::kPoolCreateType, Code::kPoolCreate, How::kChange, &Op::extra, 1},
    {Rule::kPoolCreateLocationType, Code::kPoolCreate, How::kChange, &Op::place, kNoType},
    {Rule::kPoolCreateLocationDevice, Code::kPoolCreate, How::kChange, &Op::place, kNoDevice},
    {Rule::kPoolCreateHandleTypes, Code::kPoolCreate, How::kChange, &Op::value, 2},
    {Rule::kPoolCreateFabric, Code::kPoolCreate, How::kChange, &Op::value, 8},
    {Rule::kPoolCreateWin32, Code::kPoolCreate, How::kChange, &Op::extra, 2},
    {Rule::kPoolCreateReserved, Code::kPoolCreate, How::kChange, &Op::extra, 4},
    {Rule::kPoolDestroyPoolValid, Code::kPoolDestroy, How::kChange, &Op::ref, 0},
    {Rule::kPoolDestroyPoolAlive, Code::kPoolDestroy, How::kRepeat},
    {Rule::kPoolAllocOutNonnull, Code::kPoolAlloc, How::kChange, &Op::faults, kNullOut},
    {Rule::kPoolAllocSize, Code::kPoolAlloc, How::kChange, &Op::size, 0},
    {Rule::kPoolAllocPoolValid, Code::kPoolAlloc, How::kChange, &Op::ref, 0},
    {Rule::kPoolAllocContext, Code::kPoolAlloc, How::kChange, &Op::actor, 2},
    {Rule::kPoolExportOutNonnull, Code::kPoolExport, How::kChange, &Op::faults, kNullOut},
    {Rule::kPoolExportFlags, Code::kPoolExport, How::kChange, &Op::flags, 1},
    {Rule::kPoolExportPoolValid, Code::kPoolExport, How::kChange, &Op::ref, 0},
    {Rule::kPoolExportType, Code::kPoolExport, How::kChange, &Op::value, 2},
    {Rule::kPoolImportOutNonnull, Code::kPoolImport, How::kChange, &Op::faults, kNullOut},
    {Rule::kPoolImportFlags, Code::kPoolImport, How::kChange, &Op::flags, 1},
    {Rule::kPoolImportType, Code::kPoolImport, How::kChange, &Op::value, 9},
    {Rule::kPoolImportTypeSupported, Code::kPoolImport, How::kChange, &Op::value, 2},
    {Rule::kPoolImportDescriptor, Code::kPoolImport, How::kChange, &Op::extra, kWild},
    {Rule::kPoolPointerOutNonnull, Code::kPointerExport, How::kChange, &Op::faults, kNullOut},
    {Rule::kPoolPointerValid, Code::kPointerExport, How::kChange, &Op::ref, 0},
    {Rule::kPoolTakeOutNonnull, Code::kPointerImport, How::kChange, &Op::faults, kNullOut},
    {Rule::kPoolTakeDataNonnull, Code::kPointerImport, How::kChange, &Op::faults, kNullIn},
    {Rule::kPoolTakePoolValid, Code::kPointerImport, How::kChange, &Op::ref, 0},
    {Rule::kPoolTakeData, Code::kPointerImport, How::kChange, &Op::ref2, 0},
    {Rule::kPoolAccessPoolValid, Code::kPoolSetAccess, How::kChange, &Op::ref, 0},
    {Rule::kPoolAccessMap, Code::kPoolSetAccess, How::kChange, &Op::faults, kNullIn},
    {Rule::kPoolAccessLocationType, Code::kPoolSetAccess, How::kChange, &Op::place, kNoType},
    {Rule::kPoolAccessLocationDevice, Code::kPoolSetAccess, How::kChange, &Op::place, kNoDevice},
    {Rule::kPoolAccessFlags, Code::kPoolSetAccess, How::kChange, &Op::value, 2},
    {Rule::kPoolAccessReadOnly, Code::kPoolSetAccess, How::kChange, &Op::value, 1},
    {Rule::kPoolAccessOwn, Code::kPoolSetAccess, How::kChange, &Op::value, 0},
    {Rule::kPoolSetDevice, Code::kPoolSet, How::kChange, &Op::place, kNoDevice},
    {Rule::kPoolSetPoolValid, Code::kPoolSet, How::kChange, &Op::ref, 0},
    {Rule::kMemoryContext, Code::kAlloc, How::kChange, &Op::actor, 2},
    {Rule::kFreeOnce, Code::kFreeAsync, How::kRepeat},
    {Rule::kFreeBase, Code::kFreeAsync, How::kChange, &Op::odd, kPage},
    {Rule::kIpcGetContext, Code::kIpcGet, How::kChange, &Op::actor, 2},
    {Rule::kIpcGetOutNonnull, Code::kIpcGet, How::kChange, &Op::faults, kNullOut},
    {Rule::kIpcGetPointerNonzero, Code::kIpcGet, How::kChange, &Op::ref, 0},
    {Rule::kIpcGetBase, Code::kIpcGet, How::kChange, &Op::odd, kPage},
    {Rule::kIpcGetAlive, Code::kIpcGet, How::kChange, &Op::at, 250},
};

}  // namespace

namespace {
template <class Recipes>
std::vector<Rule> rules_of(const Recipes& recipes) {
  std::vector<Rule> rules;
  for (const Recipe& recipe : recipes) rules.push_back(recipe.rule);
  return rules;
}
}  // namespace

std::span<const Rule> plantable() {
  static const std::vector<Rule> all = rules_of(kRecipes);
  return all;
}

std::span<const Rule> plantable_in_endpoints() {
  static const std::vector<Rule> all = rules_of(endpoint_recipes());
  return all;
}

std::span<const Rule> plantable_further() {
  static const std::vector<Rule> all = rules_of(further_recipes());
  return all;
}

bool plant(Ops& ops, Rule rule, Random& random) {
  const auto matches = [&](const Recipe& r) { return r.rule == rule; };
  const Recipe* recipe = nullptr;
  for (const auto all :
       {std::span<const Recipe>(kRecipes), endpoint_recipes(), further_recipes()}) {
    const auto found = std::find_if(all.begin(), all.end(), matches);
    if (!recipe && found != all.end()) recipe = &*found;
  }
  if (!recipe) return false;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].code == recipe->code) places.push_back(i);
  }
  if (places.empty()) return false;
  const std::size_t at = places[random.below(static_cast<std::uint32_t>(places.size()))];
  Op changed = ops[at];
  const auto begin = ops.begin() + static_cast<std::ptrdiff_t>(at);
  switch (recipe->how) {
    case How::kRepeat:
      ops.insert(begin, changed);
      break;
    case How::kMoveFirst: {
      // The call comes later, so that what follows it meets its mapping (or, for data, lacks it).
      const std::size_t to = rule == Rule::kFreeUnmapped
                                 ? ops.size()
                                 : random.below(static_cast<std::uint32_t>(at + 1));
      ops.erase(begin);
      ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(std::min(to, ops.size())), changed);
      break;
    }
    case How::kChange:
      changed.*recipe->field = static_cast<std::uint8_t>(recipe->value);
      canonicalise(changed);
      ops[at] = changed;
      break;
  }
  return true;
}

}  // namespace cuvmm::fuzz
