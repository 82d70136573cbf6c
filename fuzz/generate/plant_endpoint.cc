// SPDX-License-Identifier: Apache-2.0
// Faults by rule: logical endpoints and fabric copies.
#include "fuzz/generate/recipe.h"

namespace cuvmm::fuzz {

namespace {

constexpr int kTeamOfNone = endpoint_value(kTeamed, 0, 0), kNoTypeOfOne = endpoint_value(3, 1, 0);
constexpr int kOfOne = endpoint_value(kTeamed, 1, 0), kOfSeven = endpoint_value(kTeamed, 7, 0);
constexpr int kUnknownHandle = endpoint_value(kUnicast, 0, 2);
constexpr int kNoOperand = fabric_value(kByPointer, 3);
constexpr int kTwoEndpoints = fabric_value(kByEndpoint, kByEndpoint);
constexpr int kFromEndpoint = fabric_value(kByEndpoint, kByPointer);
constexpr int kToEndpoint = fabric_value(kByPointer, kByEndpoint);

constexpr Recipe kEndpointRecipes[] = {
    {Rule::kEpReserveOutNonnull, Code::kEpReserve, How::kChange, &Op::faults, kNullOut},
    {Rule::kEpReserveCount, Code::kEpReserve, How::kChange, &Op::size, 0},
    {Rule::kEpReleaseReserved, Code::kEpRelease, How::kRepeat},
    {Rule::kEpReleaseUnused, Code::kEpDestroy, How::kChange, &Op::extra, 7},
    {Rule::kEpIdReserved, Code::kEpCreate, How::kChange, &Op::extra, 7},
    {Rule::kEpIdFree, Code::kEpCreate, How::kRepeat},
    {Rule::kEpExists, Code::kEpDestroy, How::kRepeat},
    {Rule::kEpCreatePropNonnull, Code::kEpCreate, How::kChange, &Op::faults, kNullIn},
    {Rule::kEpCreateType, Code::kEpCreate, How::kChange, &Op::value, kNoTypeOfOne},
    {Rule::kEpCreateDevice, Code::kEpCreate, How::kChange, &Op::place, kNoDevice},
    {Rule::kEpCreateDevices, Code::kEpCreate, How::kChange, &Op::value, kTeamOfNone},
    {Rule::kEpCreateSizeNonzero, Code::kEpCreate, How::kChange, &Op::size, 0},
    {Rule::kEpCreateSizeAligned, Code::kEpCreate, How::kChange, &Op::odd_size, kPage},
    {Rule::kEpCreateSizeMax, Code::kEpCreate, How::kChange, &Op::odd_size, kTebibyte},
    {Rule::kEpCreateHandleTypes, Code::kEpCreate, How::kChange, &Op::value, kUnknownHandle},
    {Rule::kEpCreateFlags, Code::kEpCreate, How::kChange, &Op::flags, 2},
    {Rule::kEpAddMulticast, Code::kEpCreate, How::kChange, &Op::value, kUnicast},
    {Rule::kEpAddDeviceExists, Code::kEpAddDevice, How::kChange, &Op::place, kNoDevice},
    {Rule::kEpAddOnce, Code::kEpAddDevice, How::kRepeat},
    {Rule::kEpAddLimit, Code::kEpCreate, How::kChange, &Op::value, kOfOne},
    {Rule::kEpBindReady, Code::kEpCreate, How::kChange, &Op::value, kOfSeven},
    {Rule::kEpBindImported, Code::kEpBindMem, How::kChange, &Op::extra, 1},
    {Rule::kEpBindFlagsZero, Code::kEpBindMem, How::kChange, &Op::flags, 1},
    {Rule::kEpBindSizeNonzero, Code::kEpBindMem, How::kChange, &Op::size, 0},
    {Rule::kEpBindSizeAligned, Code::kEpBindMem, How::kChange, &Op::odd_size, kPage},
    {Rule::kEpBindOffsetAligned, Code::kEpBindMem, How::kChange, &Op::odd, kPage},
    {Rule::kEpBindMemoryAligned, Code::kEpBindAddr, How::kChange, &Op::odd2, kPage},
    {Rule::kEpBindInside, Code::kEpBindMem, How::kChange, &Op::at, 250},
    {Rule::kEpBindInsideMemory, Code::kEpBindMem, How::kChange, &Op::at2, 250},
    {Rule::kEpBindMemoryNonzero, Code::kEpBindMem, How::kChange, &Op::ref2, 0},
    {Rule::kEpBindMemoryKind, Code::kEpBindAddr, How::kChange, &Op::at2, 250},
    {Rule::kEpBindMemoryAlive, Code::kRelease, How::kMoveFirst},
    {Rule::kEpBindDevice, Code::kEpBindMem, How::kChange, &Op::place, kNoDevice},
    {Rule::kEpBindMemoryDevice, Code::kEpBindMem, How::kChange, &Op::place, 1},
    {Rule::kEpBindShareable, Code::kCreate, How::kChange, &Op::value, 0},
    {Rule::kEpBindVacant, Code::kEpBindMem, How::kRepeat},
    {Rule::kEpUnbindDevice, Code::kEpUnbind, How::kChange, &Op::place, kNoDevice},
    {Rule::kEpUnbindAligned, Code::kEpUnbind, How::kChange, &Op::odd, kPage},
    {Rule::kEpUnbindBound, Code::kEpUnbind, How::kRepeat},
    {Rule::kEpUnbindExact, Code::kEpUnbind, How::kChange, &Op::size, 250},
    {Rule::kEpExportOutNonnull, Code::kEpExport, How::kChange, &Op::faults, kNullOut},
    {Rule::kEpExportType, Code::kEpExport, How::kChange, &Op::value, 2},
    {Rule::kEpExportAllowed, Code::kEpCreate, How::kChange, &Op::value, kUnicast},
    {Rule::kEpImportNonnull, Code::kEpImport, How::kChange, &Op::faults, kNullIn},
    {Rule::kEpImportType, Code::kEpImport, How::kChange, &Op::value, 2},
    {Rule::kEpImportValid, Code::kEpImport, How::kChange, &Op::flags, 1},
    {Rule::kEpLimitsAlignmentNonnull, Code::kEpLimits, How::kChange, &Op::faults, kNullOut},
    {Rule::kEpLimitsMaxNonnull, Code::kEpLimits, How::kChange, &Op::faults, kNullSecond},
    {Rule::kEpLimitsPropNonnull, Code::kEpLimits, How::kChange, &Op::faults, kNullIn},
    {Rule::kEpLimitsPropValid, Code::kEpLimits, How::kChange, &Op::flags, 2},
    {Rule::kEpQueryOutNonnull, Code::kEpQuery, How::kChange, &Op::faults, kNullOut},
    {Rule::kFcListNonnull, Code::kFabricCopy, How::kChange, &Op::faults, kNullIn},
    {Rule::kFcFlagsZero, Code::kFabricCopy, How::kChange, &Op::flags, 1},
    {Rule::kFcStream, Code::kFabricCopy, How::kChange, &Op::value, kLegacyStream | kToEndpoint},
    {Rule::kFcOperandType, Code::kFabricCopy, How::kChange, &Op::value, kNoOperand},
    {Rule::kFcOneEndpoint, Code::kFabricCopy, How::kChange, &Op::value, kTwoEndpoints},
    {Rule::kFcOpFlagsZero, Code::kFabricCopy, How::kChange, &Op::value, kCopyFlag | kToEndpoint},
    {Rule::kFcSourceUnicast, Code::kFabricCopy, How::kChange, &Op::value, kFromEndpoint},
    {Rule::kFcEndpointReady, Code::kFabricCopy, How::kMoveFirst},
    {Rule::kFcEndpointInside, Code::kFabricCopy, How::kChange, &Op::at, 250},
    {Rule::kFcEndpointBound, Code::kFabricCopy, How::kMoveFirst},
    {Rule::kFcOwnerAccess, Code::kEpCreate, How::kChange, &Op::place, 0},
    {Rule::kFcLocal, Code::kContext, How::kMoveFirst},
    {Rule::kFcIndependent, Code::kFabricCopy, How::kChange, &Op::odd_size, kSameCopies},
};

}  // namespace

std::span<const Recipe> endpoint_recipes() { return kEndpointRecipes; }

}  // namespace cuvmm::fuzz
