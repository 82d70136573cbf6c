// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/loaded_code.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>

#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

namespace {

// The beginning of an image: by it cuvmm notices that the image has changed since the load.
using Beginning = std::array<unsigned char, 32>;

struct Loaded {
  std::string path;             // "": an image in memory
  const void* image = nullptr;  // null: a file
  Beginning beginning{};
  std::size_t known = 0;  // the bytes of `beginning` that could be read
};

struct Table {
  OwnedMutex mutex;
  std::map<CUlibrary, Loaded> libraries;
};

// Never destroyed, because threads that outlive main() make calls.
Table& table() {
  static Table& all = *new Table;
  return all;
}

constexpr std::chrono::milliseconds kPatience{20};

std::optional<Loaded> find(CUlibrary library) {
  Table& all = table();
  if (!all.mutex.lock_within(kPatience)) return std::nullopt;
  const Locked lock(all.mutex, kHeldAlready);
  const auto found = all.libraries.find(library);
  return found == all.libraries.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void prepare_loaded_code() noexcept { table(); }

void remember_code(CUlibrary library, const CodeInput& code) noexcept {
  constexpr std::size_t kMost = 4096;
  try {
    Loaded loaded;
    if (code.path) loaded.path = code.path;
    loaded.image = code.image;
    if (code.image) loaded.known = read_code(code.image, loaded.beginning);
    Table& all = table();
    if (!all.mutex.lock_within(kPatience)) return;
    const Locked lock(all.mutex, kHeldAlready);
    if (all.libraries.size() < kMost || all.libraries.contains(library))
      all.libraries[library] = std::move(loaded);
  } catch (...) {
    // Out of memory: a later refusal has no cause.
  }
}

std::string loaded_code_facts(CUlibrary library, const CodeTarget& target, CUresult result) {
  const auto loaded = find(library);
  if (!loaded) return {};
  const bool file = !loaded->image;
  std::string facts;
  if (!file) {
    Beginning now{};
    const std::size_t known = read_code(loaded->image, now);
    if (known != loaded->known || now != loaded->beginning) return {};
    facts = code_facts({.image = loaded->image}, target, result);
  } else if (!loaded->path.empty()) {
    facts = code_facts({.path = loaded->path.c_str()}, target, result);
  }
  if (facts.empty()) return {};
  return facts + ". " + (file ? "cuLibraryLoadFromFile" : "cuLibraryLoadData") +
         " accepted it, because the driver reads the code only at the library's first use";
}

bool blames_code(CUresult result) {
  constexpr CUresult kThese[] = {CUDA_ERROR_INVALID_IMAGE,     CUDA_ERROR_INVALID_PTX,
                                 CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                                 CUDA_ERROR_INVALID_SOURCE,    CUDA_ERROR_JIT_COMPILATION_DISABLED};
  return std::ranges::find(kThese, result) != std::end(kThese);
}

}  // namespace cuvmm::shim
