// SPDX-License-Identifier: Apache-2.0
// Settings of core dumps: stored and returned, and without effect, because nothing here runs on a
// GPU. The answers follow the documentation; none was measured. The environment variables that
// override these settings on a driver are ignored.
#include <unistd.h>

#include <cstring>
#include <string>

#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

enum class Kind { kBool, kText, kFlags };

// CU_COREDUMP_GENERATION_FLAGS, which older headers lack.
constexpr int kGenerationFlags = 7;
constexpr int kSettings = 8;
constexpr std::size_t kText = 1024;  // bytes, with the terminating 0

bool known(int which) { return which >= CU_COREDUMP_ENABLE_ON_EXCEPTION && which < kSettings; }

Kind kind_of(int which) {
  if (which == kGenerationFlags) return Kind::kFlags;
  return which == CU_COREDUMP_FILE || which == CU_COREDUMP_PIPE ? Kind::kText : Kind::kBool;
}

std::size_t size_of(Kind kind) {
  return kind == Kind::kBool ? sizeof(bool) : kind == Kind::kFlags ? sizeof(int) : kText;
}

CoredumpSetting default_of(int which) {
  if (kind_of(which) != Kind::kText) return {which == CU_COREDUMP_TRIGGER_HOST, {}};
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const char* prefix = which == CU_COREDUMP_FILE ? "core.cuda." : "corepipe.cuda.";
  return {0, prefix + std::string(host) + "." + std::to_string(getpid())};
}

// Writes the setting of a context, or that of all contexts where `context` is null.
CUresult tell(const Coredumps& all, int which, const Context* context, void* value,
              std::size_t size) {
  const Kind kind = kind_of(which);
  const CoredumpSetting* found = all.find(which, context);
  const CoredumpSetting setting = found ? *found : default_of(which);
  if (kind == Kind::kText) {
    if (size <= setting.text.size()) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(value, setting.text.c_str(), setting.text.size() + 1);
    return CUDA_SUCCESS;
  }
  if (size != size_of(kind)) return CUDA_ERROR_INVALID_VALUE;
  if (kind == Kind::kBool) {
    *static_cast<bool*>(value) = setting.number != 0;
  } else {
    std::memcpy(value, &setting.number, sizeof setting.number);
  }
  return CUDA_SUCCESS;
}

// A text need not end in 0, because its size gives its end.
CUresult set(Coredumps& all, int which, const Context* context, const void* value,
             std::size_t size) {
  const Kind kind = kind_of(which);
  if (kind == Kind::kText) {
    const char* text = static_cast<const char*>(value);
    const std::size_t length = strnlen(text, size);
    if (length >= kText) return CUDA_ERROR_INVALID_VALUE;
    all.set(which, context, {0, std::string(text, length)});
    return CUDA_SUCCESS;
  }
  if (size != size_of(kind)) return CUDA_ERROR_INVALID_VALUE;
  int number = 0;
  std::memcpy(&number, value, size);
  all.set(which, context, {number, {}});
  return CUDA_SUCCESS;
}

// The checks that every one of the calls begins with; nothing where they pass.
std::optional<CUresult> begun(int which, const void* value, std::size_t* size) {
  if (!known(which) || !size) return CUDA_ERROR_INVALID_VALUE;
  if (value) return std::nullopt;
  *size = size_of(kind_of(which));
  return CUDA_SUCCESS;
}

}  // namespace

const CoredumpSetting* Coredumps::find(int which, const Context* context) const {
  const auto own = all_.find({context, which});
  if (own != all_.end()) return &own->second;
  return context ? find(which, nullptr) : nullptr;
}

void Coredumps::set(int which, const Context* context, CoredumpSetting setting) {
  all_[{context, which}] = std::move(setting);
}

CUVMM_DRIVER_FUNCTION(cuCoredumpGetAttributeGlobal, CUcoredumpSettings which, void* value,
                      size_t* size) {
  return locked([&](Emulator& e) -> CUresult {
    if (const auto answer = begun(which, value, size)) return *answer;
    return tell(e.coredumps, which, nullptr, value, *size);
  });
}

CUVMM_DRIVER_FUNCTION(cuCoredumpSetAttributeGlobal, CUcoredumpSettings which, void* value,
                      size_t* size) {
  return locked([&](Emulator& e) -> CUresult {
    if (const auto answer = begun(which, value, size)) return *answer;
    return set(e.coredumps, which, nullptr, value, *size);
  });
}

CUVMM_DRIVER_FUNCTION(cuCoredumpGetAttribute, CUcoredumpSettings which, void* value, size_t* size) {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (const auto answer = begun(which, value, size)) return *answer;
    return tell(e.coredumps, which, &context, value, *size);
  });
}

// The pipe, and whether a user may trigger a dump by it, are settings of the whole process: the
// documentation forbids to set them for a context, and names no error code for that.
CUVMM_DRIVER_FUNCTION(cuCoredumpSetAttribute, CUcoredumpSettings which, void* value, size_t* size) {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (const auto answer = begun(which, value, size)) return *answer;
    if (which == CU_COREDUMP_PIPE || which == CU_COREDUMP_ENABLE_USER_TRIGGER) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    return set(e.coredumps, which, &context, value, *size);
  });
}

}  // namespace cuvmm::emulator
