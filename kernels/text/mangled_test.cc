// SPDX-License-Identifier: Apache-2.0
// Damaged texts: each is either read, or refused with a place, and a kernel that is read may run or
// be refused. Sanitizers check the accesses.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "kernels/testing.h"

namespace cuvmm::kernels {
namespace {

const std::string& whole() {
  static const auto* const text = [] {
    std::ifstream file(CUVMM_PTX_KERNELS);
    return new std::string{std::istreambuf_iterator<char>(file), {}};
  }();
  return *text;
}

void use(const std::string& text) {
  Error error;
  const auto module = parse(text, error);
  RC_ASSERT((module != nullptr) == error.message.empty());
  if (!module) {
    RC_ASSERT(error.at.line >= 1 && error.at.column >= 1);
    RC_ASSERT(error.at.line <= 1 + std::count(text.begin(), text.end(), '\n'));
    return;
  }
  const Addresses somewhere = [](std::string_view) -> std::optional<std::uint64_t> {
    return testing::FlatMemory::kBase;
  };
  for (const Function& each : module->functions) {
    if (!each.entry || !each.defined) continue;
    const Decoded decoded = decode(*module, each, somewhere);
    RC_ASSERT((decoded.code != nullptr) == decoded.why_not.empty());
    if (!decoded.code || decoded.code->parameter_bytes > 4096) continue;
    testing::FlatMemory memory(4096);
    const std::vector<char> parameters(decoded.code->parameter_bytes);
    const Shape shape{.block = {33, 1, 1}};
    Grid grid(*decoded.code, shape, parameters, memory, 5000);
    run(grid);
  }
}

// Takes a part of the file, because the whole file takes long.
std::string some_kernel() {
  const std::size_t from = *rc::gen::inRange<std::size_t>(0, whole().size());
  const std::size_t begin = whole().rfind(".visible .entry", from);
  const std::size_t end = whole().find("\n}\n", from);
  const std::string head = whole().substr(0, whole().find(".visible .entry"));
  return begin == whole().npos || end == whole().npos || end < begin
             ? head
             : head + whole().substr(begin, end + 3 - begin);
}

RC_GTEST_PROP(PtxMangled, CharactersChange, ()) {
  std::string text = some_kernel();
  for (int changes = *rc::gen::inRange(0, 6); changes > 0; --changes) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = *rc::gen::oneOf(rc::gen::elementOf(std::string("{}[]()<>;:,@!|.%+-0179 \n\"/*=")),
                               rc::gen::arbitrary<char>());
  }
  use(text);
}

RC_GTEST_PROP(PtxMangled, PiecesGoAndComeTwice, ()) {
  std::string text = some_kernel();
  for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto size = *rc::gen::inRange<std::size_t>(0, 40);
    const std::string piece = text.substr(at, size);
    if (*rc::gen::arbitrary<bool>()) {
      text.erase(at, size);
    } else {
      text.insert(*rc::gen::inRange<std::size_t>(0, text.size()), piece);
    }
    if (text.empty()) return;
  }
  use(text);
}

}  // namespace
}  // namespace cuvmm::kernels
