// SPDX-License-Identifier: Apache-2.0
// Kernels for tests, whose memory is a vector.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "kernels/decode/decoder.h"
#include "kernels/run/run_grid.h"
#include "kernels/text/parser.h"

namespace cuvmm::kernels::testing {

/// Bytes at an address.
class FlatMemory : public Memory {
 public:
  static constexpr std::uint64_t kBase = 0x10000;

  explicit FlatMemory(std::size_t size) : bytes(size) {}
  std::string why_not(std::uint64_t, unsigned, bool) override { return "nothing is there"; }

  std::vector<char> bytes;

 private:
  Window find(std::uint64_t) override {
    return {kBase, kBase + bytes.size(), bytes.data(), true, true};
  }
};

/// A module with the kernel `k` of this body, whose parameter `to` is an address.
inline std::string module_of(const std::string& body, const std::string& before = "") {
  return ".version 8.3\n.target sm_90\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 to)\n{\n"
         "  .reg .pred %p<10>;\n  .reg .b16 %h<20>;\n  .reg .b32 %r<40>;\n"
         "  .reg .f32 %f<20>;\n  .reg .b64 %rd<20>;\n  .reg .f64 %fd<20>;\n"
         "  ld.param.u64 %rd0, [to];\n" +
         body + "\n  ret;\n}\n";
}

struct Ran {
  std::string error;  ///< an error in the text, or an instruction that the decoder does not know
  Fault fault;
  std::vector<char> memory;

  template <class T>
  T at(std::size_t index) const {
    T value;
    std::memcpy(&value, &memory[index * sizeof(T)], sizeof value);
    return value;
  }
};

/// Runs the kernel `k` of a module on memory that begins with these bytes; zeros follow.
inline Ran run_module(const std::string& text, const Shape& shape = {},
                      std::uint64_t steps = 1 << 20, const std::vector<char>& before = {}) {
  Ran ran;
  Error error;
  const auto module = parse(text, error);
  if (!module) {
    ran.error = error.text();
    return ran;
  }
  const Addresses none = [](std::string_view) -> std::optional<std::uint64_t> { return {}; };
  const Decoded decoded = decode(*module, *module->function("k"), none);
  ran.error = decoded.why_not;
  if (!decoded.code) return ran;
  FlatMemory memory(std::max<std::size_t>(1 << 16, before.size()));
  std::copy(before.begin(), before.end(), memory.bytes.begin());
  std::vector<char> parameters(decoded.code->parameter_bytes);
  std::memcpy(parameters.data(), &FlatMemory::kBase, sizeof FlatMemory::kBase);
  Grid grid(*decoded.code, shape, parameters, memory, steps);
  ran.fault = run(grid);
  ran.memory = std::move(memory.bytes);
  return ran;
}

inline Ran run_body(const std::string& body, const Shape& shape = {},
                    std::uint64_t steps = 1 << 20) {
  return run_module(module_of(body), shape, steps);
}

}  // namespace cuvmm::kernels::testing
