// SPDX-License-Identifier: Apache-2.0
// cuMemExportToShareableHandle and cuMemImportFromShareableHandle.
#include <algorithm>
#include <climits>

#include "rulebook/check/check_prop.h"
#include "rulebook/check/check_support.h"

namespace cuvmm {
using namespace detail;

namespace {
bool one_known_type(unsigned type) {
  return type == 1 || type == 2 || type == 4 || type == kFabric;
}

std::string type_name(unsigned type) {
  switch (type) {
    case 1:
      return "POSIX_FILE_DESCRIPTOR (1)";
    case 2:
      return "WIN32 (2)";
    case 4:
      return "WIN32_KMT (4)";
    case kFabric:
      return "FABRIC (8)";
    default:
      return std::to_string(type);
  }
}

void check_fabric_handle(Collector& out, const void* handle, Facts::Token token) {
  using Token = Facts::Token;
  if (!handle) {
    out.add(Rule::kImportFabricNonnull, "osHandle is NULL");
    return;
  }
  if (token == Token::kValid || token == Token::kOwn) return;
  const auto* data = static_cast<const unsigned char*>(handle);
  constexpr std::size_t kFabricBytes = 64;
  const bool zeros =
      std::all_of(data, data + kFabricBytes, [](unsigned char byte) { return byte == 0; });
  const char* what = "the fabric handle is not one that the driver knows";
  if (zeros) what = "the fabric handle is all zeros";
  if (token == Token::kEnded) what = "the memory that the fabric handle names was released";
  if (token == Token::kExporterEnded) {
    what = "the process that exported the fabric handle has ended";
  }
  out.add(Rule::kImportFabricValid, what, zeros || token != Token::kUnknown);
}
}  // namespace

Violations check(const Model& model, const calls::MemExportToShareableHandle& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.shareableHandle) out.add(Rule::kExportOutNonnull, "shareableHandle is NULL");
  if (call.flags != 0)
    out.add(Rule::kExportFlagsZero, "flags is " + hex_text(call.flags) + ", not 0");
  const Allocation* a = check_handle(out, model, call.handle,
                                     {Rule::kExportHandleNonzero, Rule::kExportHandleValid,
                                      Rule::kExportHandleAlive, Rule::kExportHandleReferenced},
                                     facts);
  const auto type = static_cast<unsigned>(call.handleType);
  if (!one_known_type(type)) {
    out.add(Rule::kExportOneType,
            "handleType is " + std::to_string(type) + ", not exactly one type");
    return out.take();
  }
  if (!a) return out.take();
  if (a->imported) {
    out.add(Rule::kExportNotImported, handle_text(call.handle) + " was imported")
        .objects.push_back(ref(*a));
  } else if (a->prop_known && !(static_cast<unsigned>(a->prop.requestedHandleTypes) & type)) {
    out.add(Rule::kExportRequestedType,
            "handleType is " + type_name(type) +
                "; the allocation was created with requestedHandleTypes " +
                hex_text(static_cast<unsigned>(a->prop.requestedHandleTypes)))
        .objects.push_back(ref(*a));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemImportFromShareableHandle& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.handle) out.add(Rule::kImportHandleNonnull, "handle is NULL");
  const auto type = static_cast<unsigned>(call.shHandleType);
  if (!one_known_type(type)) {
    out.add(Rule::kImportTypeKnown,
            "shHandleType is " + std::to_string(type) + ", not exactly one type");
    return out.take();
  }
  if (type != kFabric && !call.osHandle) {
    // Another driver may tell a descriptor of 0 from a NULL pointer, so this needs the driver's
    // refusal.
    out.add(Rule::kImportDescriptorNonzero,
            "osHandle is 0, which the driver takes for a NULL pointer", false);
  }
  const std::uint32_t supported = model.platform().handle_types;
  if (supported != 0 && !(supported & type)) {
    out.add(Rule::kImportTypeSupported,
            "shHandleType is " + type_name(type) + ", which this system lacks");
    return out.take();
  }
  if (type == kFabric) {
    check_fabric_handle(out, call.osHandle, facts.sharing.fabric);
    return out.take();
  }
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return out.take();
  const auto value = reinterpret_cast<std::uintptr_t>(call.osHandle);
  if (value == 0) return out.take();
  if (value > INT_MAX && static_cast<std::intptr_t>(value) > 0) {
    out.add(
        Rule::kImportDescriptorValid,
        "osHandle is " + hex_text(value) + ": an address, where the descriptor itself is expected");
    return out.take();
  }
  const int fd = static_cast<int>(value);
  if (check_given(out, model, fd, facts.sharing.descriptor_valid, Rule::kImportDescriptorOwned)) {
    return out.take();
  }
  if (facts.sharing.descriptor_kind == Facts::Answer::kNo) {
    out.add(Rule::kImportDescriptorKind,
            "descriptor " + std::to_string(fd) + " is a descriptor of a pool");
    return out.take();
  }
  if (facts.sharing.descriptor_valid != Facts::Answer::kYes) {
    out.add(Rule::kImportDescriptorValid,
            "descriptor " + std::to_string(fd) + " does not refer to an exported allocation",
            fd < 0 || facts.sharing.descriptor_valid == Facts::Answer::kNo);
  }
  if (facts.sharing.descriptor_valid == Facts::Answer::kUnknown && fd >= 0) {
    out.add(Rule::kImportDescriptorKind,
            "descriptor " + std::to_string(fd) + " may be a descriptor of a pool", false);
  }
  return out.take();
}

}  // namespace cuvmm
