// SPDX-License-Identifier: Apache-2.0
#include "fuzz/objects/reference.h"

#include <algorithm>

namespace cuvmm::fuzz::objects {

void Reference::begin() {
  *this = {};
  for (unsigned i = 0; i < kLinears; ++i) {
    memories_[i] = std::make_shared<Block>(Block{std::vector<int>(kLinearBytes, 0)});
  }
}

Expectation Reference::expect(const Op& op) const {
  switch (info(op.code).area) {
    case Area::kArrays:
      return expect_array(op);
    case Area::kMemory:
      return expect_memory(op);
    case Area::kGraphs:
      return expect_graph(op);
    default:
      return expect_code(op);
  }
}

std::string Reference::accept(const Op& op, const Answer& answer) {
  switch (info(op.code).area) {
    case Area::kArrays:
      return accept_array(op, answer);
    case Area::kGraphs:
      return accept_graph(op, answer);
    case Area::kCode:
      return accept_code(op, answer);
    default:
      break;
  }
  Block& block = *memories_[op["m"]];
  for (unsigned i = 0; i < op["w"]; ++i) {
    int& byte = block.bytes[op["at"] + i];
    if (op.code == Code::kFill) {
      byte = static_cast<int>(op["value"] & 255);
    } else if (byte >= 0 && answer.bytes[i] != byte) {
      return "a byte is not what was written";
    }
  }
  return "";
}

bool Reference::reused(const Block& block) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const BlockPtr& other) {
    return other->live && other->address < block.address + block.bytes.size() &&
           block.address < other->address + other->bytes.size();
  });
}

// cuda.h: the range must be memory of the device. A driver may accept what lies behind an
// allocation in its block, so only calls inside of one are made.
Expectation Reference::expect_memory(const Op& op) const {
  const BlockPtr& block = memories_[op["m"]];
  if (!block || op["w"] == 0 || op["at"] + op["w"] > block->bytes.size()) return kSkip;
  if (block->live) return {};
  // Memory that a launch has not given yet is not asked for. Memory that ended is refused, unless
  // other memory lies there by now.
  if (block->of_graph || reused(*block)) return kSkip;
  // Variables of loaded code may lie there as well, although no call has named them.
  const bool loaded = std::any_of(modules_.begin(), modules_.end(), lives<Loaded>) ||
                      std::any_of(libraries_.begin(), libraries_.end(), lives<Loaded>);
  return loaded ? kSkip : kRefused;
}

Ops Reference::clean_up() const {
  Ops out;
  const auto add = [&](Code code, unsigned name) {
    Op op{code};
    op.values[0] = name;
    out.push_back(op);
  };
  for (unsigned i = 0; i < kNames; ++i) {
    if (arrays_[i] && arrays_[i]->live) add(Code::kArrayEnd, i);
    if (executables_[i] && executables_[i]->live) add(Code::kExecutableEnd, i);
    if (memories_[i] && memories_[i]->live && memories_[i]->of_graph) add(Code::kFree, i);
  }
  for (unsigned i = 0; i < kNames; ++i) {
    if (graphs_[i] && graphs_[i]->live) add(Code::kGraphEnd, i);
    if (modules_[i] && modules_[i]->live && !modules_[i]->library) add(Code::kModuleEnd, i);
    if (libraries_[i] && libraries_[i]->live) add(Code::kLibraryEnd, i);
  }
  return out;
}

}  // namespace cuvmm::fuzz::objects
