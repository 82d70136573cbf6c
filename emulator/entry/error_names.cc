// SPDX-License-Identifier: Apache-2.0
// cuGetErrorName and cuGetErrorString; both work without cuInit.
#include <atomic>
#include <cctype>
#include <string>
#include <utility>

#include "api/driver/driver.h"
#include "emulator/base/life.h"
#include "emulator/core/base_entry.h"
#include "emulator/entry/error_words.h"

namespace cuvmm::emulator {

namespace {

struct Texts {
  std::string name;         // "CUDA_ERROR_INVALID_VALUE"
  std::string description;  // "invalid argument"; where it is unknown, the name in plain words
};

Texts describe(int code, std::string name) {
  for (const ErrorWords& known : kErrorWords) {
    if (known.code == code) return {std::move(name), known.words};
  }
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

/// The texts of a code; never freed, because callers keep the pointers.
struct Known {
  int code = 0;
  Texts texts;
  const Known* next = nullptr;
};

// The texts of a code, null for a number that is no code. Takes no lock, because a child of fork
// might find the lock held by a thread that does not exist there.
const Texts* texts_of(CUresult code) {
  static constinit std::atomic<const Known*> newest{nullptr};
  for (const Known* known = newest.load(std::memory_order_acquire); known; known = known->next) {
    if (known->code == static_cast<int>(code)) return &known->texts;
  }
  std::string name = result_name(code);
  if (name.rfind("CUDA_", 0) != 0) return nullptr;
  auto* added = new Known{static_cast<int>(code), describe(static_cast<int>(code), std::move(name)),
                          newest.load()};
  // Two threads may add texts of an equal code, which does no harm.
  while (!newest.compare_exchange_weak(added->next, added)) {
  }
  return &added->texts;
}

CUresult answer(CUresult code, const char** out, std::string Texts::*text) noexcept {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
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
