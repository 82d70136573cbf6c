// SPDX-License-Identifier: Apache-2.0
#include "emulator/runtime/error.h"

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "emulator/base/export.h"
#include "emulator/entry/error_words.h"

namespace cuvmm::runtime {

namespace {

thread_local Error t_last = cudaSuccess;
thread_local Error t_refused = cudaSuccess;

const char* name_of(int error) {
  switch (error) {
#define CUVMM_ERROR(name, value) \
  case value:                    \
    return #name;
#include "emulator/runtime/errors.def"
#undef CUVMM_ERROR
    default:
      return nullptr;
  }
}

// "cudaErrorECCUncorrectable" -> "ecc uncorrectable": the name, in plain words.
std::string words_of(std::string_view name) {
  for (const std::string_view prefix : {"cudaError", "cuda"}) {
    if (name.size() > prefix.size() && name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  const auto upper = [&](std::size_t i) { return std::isupper(name[i]) != 0; };
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool ends_capitals = i + 1 < name.size() && !upper(i + 1);
    if (i > 0 && upper(i) && (!upper(i - 1) || ends_capitals)) text += ' ';
    text += static_cast<char>(std::tolower(name[i]));
  }
  return text;
}

// The driver's description of a code, because the runtime gives the driver's codes the driver's
// numbers and meanings.
std::string description_of(int error, std::string_view name) {
  for (const emulator::ErrorWords& known : emulator::kErrorWords) {
    if (known.code == error) return known.words;
  }
  return words_of(name);
}

// Texts that are never freed, because callers keep the pointers.
const std::map<int, std::string>& descriptions() {
  static const auto& all = *new std::map<int, std::string>{
#define CUVMM_ERROR(name, value) {value, description_of(value, #name)},
#include "emulator/runtime/errors.def"
#undef CUVMM_ERROR
  };
  return all;
}

// Runs when the library is loaded, because a child of fork would wait for ever for a thread that
// was in the middle of making the texts.
__attribute__((constructor)) void at_load() { descriptions(); }

constexpr const char* kUnrecognized = "unrecognized error code";

}  // namespace

Error error_of(CUresult result) {
  return name_of(static_cast<int>(result)) ? static_cast<Error>(result) : cudaErrorUnknown;
}

Error keep(Error error) {
  if (error != cudaSuccess) t_last = error;
  return error;
}

void answer_next_call(Error refused) { t_refused = refused; }

Error refused_before() { return std::exchange(t_refused, cudaSuccess); }

CUVMM_EXPORT(Error, cudaGetLastError) {
  t_refused = cudaSuccess;
  return std::exchange(t_last, cudaSuccess);
}

CUVMM_EXPORT(Error, cudaPeekAtLastError) {
  t_refused = cudaSuccess;
  return t_last;
}

CUVMM_EXPORT(const char*, cudaGetErrorName, int error) {
  const char* name = name_of(error);
  return name ? name : kUnrecognized;
}

CUVMM_EXPORT(const char*, cudaGetErrorString, int error) {
  const auto found = descriptions().find(error);
  return found == descriptions().end() ? kUnrecognized : found->second.c_str();
}

}  // namespace cuvmm::runtime
