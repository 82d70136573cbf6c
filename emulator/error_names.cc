// cuGetErrorName and cuGetErrorString; both work without cuInit.
#include <cctype>
#include <map>
#include <mutex>
#include <string>

#include "api/driver.h"
#include "emulator/base.h"

namespace cuvmm::emulator {

namespace {

struct Texts {
  std::string name;         // "CUDA_ERROR_INVALID_VALUE"
  std::string description;  // "invalid value": the name, in plain words
};

Texts describe(std::string name) {
  constexpr std::string_view kPrefixes[] = {"CUDA_ERROR_", "CUDA_"};
  std::string text = name;
  for (std::string_view prefix : kPrefixes) {
    if (text.rfind(prefix, 0) == 0) {
      text.erase(0, prefix.size());
      break;
    }
  }
  for (char& c : text) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  return {std::move(name), std::move(text)};
}

// Texts that live for ever, as callers may keep them; null for a code that is none.
const Texts* texts_of(CUresult code) {
  static std::mutex mutex;
  static auto& known = *new std::map<int, Texts>;
  std::string name = result_name(code);
  if (name.rfind("CUDA_", 0) != 0) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [entry, inserted] = known.try_emplace(static_cast<int>(code));
  if (inserted) entry->second = describe(std::move(name));
  return &entry->second;
}

CUresult answer(CUresult code, const char** out, std::string Texts::*text) noexcept {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  try {
    const Texts* texts = texts_of(code);
    if (!texts) return CUDA_ERROR_INVALID_VALUE;
    *out = (texts->*text).c_str();
    return CUDA_SUCCESS;
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace

CUresult run_base(const calls::GetErrorName& call) noexcept {
  return answer(call.error, call.str, &Texts::name);
}

CUresult run_base(const calls::GetErrorString& call) noexcept {
  return answer(call.error, call.str, &Texts::description);
}

}  // namespace cuvmm::emulator
