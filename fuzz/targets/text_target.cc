// SPDX-License-Identifier: Apache-2.0
// Fuzzes the program text: any bytes are safe to parse, a parsed text prints itself, and ops
// survive the way to text and back.
#include <cstdlib>
#include <string_view>

#include "fuzz/ops/text.h"
#include "program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuvmm;
  using namespace cuvmm::program;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ParsedProgram parsed = parse_program(text);
  if (parsed.errors.empty()) {
    const ParsedProgram again = parse_program(print(parsed.program));
    if (!again.errors.empty() || !(again.program == parsed.program)) std::abort();
  }
  const fuzz::TextOps read = fuzz::from_text(text);
  if (!read.error.empty()) return 0;
  const std::string written = fuzz::to_text(read.ops);
  const fuzz::TextOps twice = fuzz::from_text(written);
  if (!twice.error.empty() || fuzz::to_text(twice.ops) != written) std::abort();
  return 0;
}
