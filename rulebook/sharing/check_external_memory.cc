// SPDX-License-Identifier: Apache-2.0
// cuImportExternalMemory, and mappings of external memory.
#include <algorithm>
#include <climits>

#include "rulebook/check/check_support.h"
#include "rulebook/order/check_work.h"
#include "rulebook/sharing/check_external.h"

namespace cuvmm {
using namespace detail;

namespace detail {

bool check_given(Collector& out, const Model& model, int fd, Facts::Answer open, Rule owned) {
  const auto given = model.descriptors().given().find(fd);
  if (given == model.descriptors().given().end() || open == Facts::Answer::kYes) return false;
  const bool closed = open == Facts::Answer::kNo;
  ObjectRef import{ObjectRef::Kind::kExport, static_cast<std::uint64_t>(fd), 0, {}, given->second};
  out.add(owned,
          "descriptor " + std::to_string(fd) +
              " belongs to the driver since it was imported as external memory or as a semaphore",
          closed)
      .objects.push_back(import);
  return closed;
}

void check_external_exit(Collector& out, const Model& model) {
  for (const auto& [handle, m] : model.external().memories()) {
    out.add(Rule::kExtImportLeak, "external memory " + hex_text(handle) + " (" + size_text(m.size) +
                                      ") was never destroyed and keeps its memory alive")
        .objects.push_back(ref(m));
  }
  for (const auto& [base, b] : model.external().buffers()) {
    out.add(Rule::kExtBufferLeak, "the buffer " + range(base, b.size) + " was never freed")
        .objects.push_back(ref(b));
  }
  for (const auto& [handle, array] : model.arrays().all()) {
    if (array.external == 0) continue;
    out.add(Rule::kExtMipmapFreed, "the mapped array " + hex_text(handle) + " was never destroyed")
        .objects.push_back(ref(array));
  }
  for (const auto& [handle, s] : model.external().semaphores()) {
    out.add(Rule::kSemImportLeak, "external semaphore " + hex_text(handle) + " was never destroyed")
        .objects.push_back(ref(s));
  }
}

}  // namespace detail

// If the number is open, it belongs to a later file, whose owner is unknown.
Violations check_close(const Model& model, int fd, bool open) {
  Collector out;
  check_given(out, model, fd, open ? Facts::Answer::kYes : Facts::Answer::kNo,
              Rule::kExtImportFdOwned);
  Violations all = out.take();
  for (Violation& v : all) {
    v.message = "close(" + std::to_string(fd) + "): " + v.message +
                ", which has closed it: at another moment this closes a new file of another owner";
  }
  const auto ended = model.descriptors().ended().find(fd);
  if (open || ended == model.descriptors().ended().end() || !all.empty()) return all;
  ObjectRef object{ObjectRef::Kind::kExport, static_cast<std::uint64_t>(fd), 0, {}, {}};
  object.made = ended->second.made;
  object.ended = ended->second.closed;
  out.add(Rule::kExportFdClosedOnce,
          "close(" + std::to_string(fd) +
              "): the program has closed this descriptor of memory before: at another moment this "
              "closes a new file of another owner")
      .objects.push_back(object);
  return out.take();
}

namespace {

/// The rules that an external memory can break.
struct MemoryRules {
  Rule nonnull, valid, alive;
};

// Null if nothing is known about the memory, with a violation unless the memory is merely unknown.
const ExternalMemory* check_memory(Collector& out, const Model& model, CUexternalMemory object,
                                   const MemoryRules& rules) {
  const auto& memories = model.external().memories();
  return check_external_object(out, model, memories, object_number(object),
                               ObjectRef::Kind::kExternalMemory, "external memory",
                               {rules.nonnull, rules.valid, rules.alive});
}

const char* type_name(unsigned type) {
  static constexpr const char* kNames[] = {
      "",           "OPAQUE_FD",      "OPAQUE_WIN32",   "OPAQUE_WIN32_KMT",
      "D3D12_HEAP", "D3D12_RESOURCE", "D3D11_RESOURCE", "D3D11_RESOURCE_KMT",
      "NVSCIBUF",   "DMABUF_FD"};
  return kNames[type];
}

// Checks that the flags suit the type. A driver checks this before it refuses an unknown type.
bool check_dedicated(Collector& out, unsigned type, unsigned flags) {
  const bool dedicated = flags & CUDA_EXTERNAL_MEMORY_DEDICATED;
  const bool resource =
      type >= external_type::kD3d12Resource && type <= external_type::kD3d11ResourceKmt;
  const bool never = type == external_type::kNvSciBuf || type == external_type::kDmaBufFd;
  if (dedicated ? !never : !resource) return true;
  out.add(Rule::kExtImportDedicated,
          std::string("flags ") + (dedicated ? "has" : "lacks") +
              " CUDA_EXTERNAL_MEMORY_DEDICATED for " + type_name(type) +
              (resource ? ", a type that this system lacks anyway" : ""));
  return false;
}

void check_import_fd(Collector& out, const Model& model, int fd, const Facts& facts) {
  if (check_given(out, model, fd, facts.sharing.descriptor_valid, Rule::kExtImportFdOwned)) return;
  if (facts.sharing.descriptor_valid == Facts::Answer::kYes) return;
  const bool certain = fd < 0 || facts.sharing.descriptor_valid == Facts::Answer::kNo;
  out.add(Rule::kExtImportFdValid,
          "descriptor " + std::to_string(fd) + " does not refer to a memory object" +
              (certain ? "" : ", or refers to compressed memory of another device"),
          certain);
}

}  // namespace

Violations check(const Model& model, const calls::ImportExternalMemory& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (facts.place.context == Facts::Answer::kNo) {
    out.add(Rule::kExtImportContext, "no context is current to the calling thread");
  }
  if (!call.extMem_out) out.add(Rule::kExtImportOutNonnull, "extMem_out is NULL");
  if (!call.memHandleDesc) {
    out.add(Rule::kExtImportDescNonnull, "memHandleDesc is NULL");
    return out.take();
  }
  const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc = *call.memHandleDesc;
  const auto type = static_cast<unsigned>(desc.type);
  const bool known = type >= external_type::kOpaqueFd && type <= external_type::kLastMemory;
  if (!known) {
    out.add(Rule::kExtImportTypeKnown, "type is " + std::to_string(type));
  } else if (check_dedicated(out, type, desc.flags) && type != external_type::kOpaqueFd) {
    // NvSciBuf and dma-buf exist on some machines, but on no recorded one.
    const bool windows = type < external_type::kNvSciBuf;
    out.add(Rule::kExtImportTypeSupported,
            "type is " + std::string(type_name(type)) + ", which this system lacks", windows);
  }
  if (desc.size == 0) out.add(Rule::kExtImportSizeNonzero, "size is 0");
  if (desc.flags & ~unsigned{CUDA_EXTERNAL_MEMORY_DEDICATED}) {
    out.add(Rule::kExtImportFlagsKnown, "flags is " + hex_text(desc.flags));
  }
  check_reserved(out, desc.reserved, Rule::kExtImportReservedZero);
  if (type != external_type::kOpaqueFd) return out.take();
  check_import_fd(out, model, desc.handle.fd, facts);
  if (facts.external.object_size != 0 && desc.size != 0 &&
      desc.size != facts.external.object_size) {
    out.add(Rule::kExtImportSizeExact, "size is " + size_text(desc.size) +
                                           "; the memory object has " +
                                           size_text(facts.external.object_size));
  }
  return out.take();
}

Violations check(const Model& model, const calls::ExternalMemoryGetMappedBuffer& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.devPtr) out.add(Rule::kExtBufferOutNonnull, "devPtr is NULL");
  const ExternalMemory* memory = check_memory(
      out, model, call.extMem,
      {Rule::kExtBufferMemoryNonnull, Rule::kExtBufferMemoryValid, Rule::kExtBufferMemoryAlive});
  if (!call.bufferDesc) {
    out.add(Rule::kExtBufferDescNonnull, "bufferDesc is NULL");
    return out.take();
  }
  const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& desc = *call.bufferDesc;
  if (desc.flags != 0) out.add(Rule::kExtBufferFlagsZero, "flags is " + hex_text(desc.flags));
  check_reserved(out, desc.reserved, Rule::kExtBufferReservedZero);
  if (desc.size == 0) out.add(Rule::kExtBufferSizeNonzero, "size is 0");
  if (!memory) return out.take();
  const auto past = [&](std::uint64_t end) {
    return desc.offset > end || desc.size > end - desc.offset;
  };
  if (memory->dedicated && desc.offset != 0) {
    out.add(Rule::kExtBufferDedicatedOffset,
            "offset is " + size_text(desc.offset) + ", in memory imported as dedicated")
        .objects.push_back(ref(*memory));
  }
  const std::string what = size_text(desc.size) + " at offset " + size_text(desc.offset);
  if (past(memory->size)) {
    out.add(Rule::kExtBufferBounds, what + ", in memory imported with " + size_text(memory->size))
        .objects.push_back(ref(*memory));
  } else if (memory->object_size != 0 && past(memory->object_size)) {
    out.add(Rule::kExtBufferInsideObject,
            what + ", in a memory object of " + size_text(memory->object_size))
        .objects.push_back(ref(*memory));
  }
  for (const auto& [base, buffer] : model.external().buffers()) {
    if (buffer.memory_ended || buffer.memory != memory->handle) continue;
    if (!overlap(buffer.offset, buffer.size, desc.offset, desc.size)) continue;
    // Drivers accept this, and may refuse it since CUDA 13.5.
    Violation& v = out.add(Rule::kExtBufferMapped,
                           what + " overlap the buffer at " + hex_text(base) + ", which shows " +
                               size_text(buffer.size) + " at offset " + size_text(buffer.offset),
                           false);
    v.objects = {ref(*memory), ref(buffer)};
    break;
  }
  return out.take();
}

Violations check(const Model& model, const calls::ExternalMemoryGetMappedMipmappedArray& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.mipmap) out.add(Rule::kExtMipmapOutNonnull, "mipmap is NULL");
  const ExternalMemory* memory = check_memory(
      out, model, call.extMem,
      {Rule::kExtMipmapMemoryNonnull, Rule::kExtMipmapMemoryValid, Rule::kExtMipmapMemoryAlive});
  if (!call.mipmapDesc) {
    out.add(Rule::kExtMipmapDescNonnull, "mipmapDesc is NULL");
    return out.take();
  }
  const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC& desc = *call.mipmapDesc;
  if (desc.numLevels == 0) out.add(Rule::kExtMipmapLevelsNonzero, "numLevels is 0");
  if (!memory) return out.take();
  if (desc.offset >= memory->size) {
    out.add(Rule::kExtMipmapOffsetInside,
            "offset is " + size_text(desc.offset) + ", in memory of " + size_text(memory->size))
        .objects.push_back(ref(*memory));
  }
  if (memory->type == external_type::kNvSciBuf && desc.numLevels > 1) {
    out.add(Rule::kExtMipmapOneLevel, "numLevels is " + std::to_string(desc.numLevels))
        .objects.push_back(ref(*memory));
  }
  if (memory->type == external_type::kDmaBufFd) {
    out.add(Rule::kExtMipmapNotDmaBuf, "the external memory is a dma-buf")
        .objects.push_back(ref(*memory));
  }
  return out.take();
}

Violations check(const Model& model, const calls::DestroyExternalMemory& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_memory(out, model, call.extMem,
               {Rule::kExtDestroyNonnull, Rule::kExtDestroyValid, Rule::kExtDestroyOnce});
  if (facts.order.count != 0) {
    add_work(out, facts.order, Rule::kExtDestroyInFlight, Rule::kExtDestroyOrdered,
             "the external memory of a buffer is destroyed");
  }
  return out.take();
}

}  // namespace cuvmm
