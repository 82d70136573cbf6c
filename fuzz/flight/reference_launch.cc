// SPDX-License-Identifier: Apache-2.0
// Launches of kernels and graphs: their arguments, and how they use these.
#include <algorithm>
#include <cstring>

#include "fuzz/flight/reference.h"

namespace cuvmm::fuzz::flight {

namespace {

constexpr std::uint64_t kWord = 8;

// The kernels of program/kernel/kernels.h, stated once more: the number of words of each parameter;
// the indices of words that are addresses; and the addresses of arrays whose length is the word at
// `count`.
struct Kernel {
  const char* name;
  std::vector<int> parameters;
  std::vector<std::size_t> addresses;
  std::vector<std::size_t> touched;
  std::size_t count = 2;
};
const std::vector<Kernel>& all_kernels() {
  static const std::vector<Kernel> kAll = {{"nothing", {1, 1, 1}, {0, 1, 2}, {}},
                                           {"fill", {1, 1, 1}, {0}, {0}},
                                           {"copy", {1, 1, 1}, {0, 1}, {0, 1}},
                                           {"fill_struct", {3}, {}, {0}}};
  return kAll;
}

std::uint64_t word_at(const void* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// All words of a kernel's arguments, in order.
std::vector<std::uint64_t> words_of(const Kernel& kernel, void** parameters, void** extra) {
  std::vector<std::uint64_t> out;
  const auto* packed = extra ? static_cast<const char*>(extra[1]) : nullptr;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    for (int k = 0; k < kernel.parameters[i]; ++k) {
      const auto* const at =
          packed ? packed + out.size() * kWord
                 : static_cast<const char*>(parameters[i]) + static_cast<std::uint64_t>(k) * kWord;
      out.push_back(word_at(at));
    }
  }
  return out;
}

}  // namespace

Reference::Uses Reference::uses_of(const void* function, void** parameters, void** extra,
                                   std::uint64_t threads) const {
  Uses out;
  const auto name = kernels_.find(value_of(function));
  if (name == kernels_.end()) return out;
  for (const Kernel& kernel : all_kernels()) {
    if (name->second != kernel.name) continue;
    const std::vector<std::uint64_t> words = words_of(kernel, parameters, extra);
    // Numbers and parts of a structure are no arguments.
    for (const std::size_t i : kernel.addresses) out.push_back({{words[i], 1}, true, false});
    const bool has_addresses = !kernel.addresses.empty();
    const std::uint64_t count = std::min(words[kernel.count], threads);
    for (const std::size_t i : kernel.touched) {
      if (count != 0) out.push_back({{words[i], count * kWord}, false, true, has_addresses});
    }
  }
  return out;
}

bool Reference::followed() const {
  return std::any_of(memory_.begin(), memory_.end(),
                     [](const Memory& m) { return m.kind != Memory::Kind::kPlain; });
}

bool Reference::leads_elsewhere(std::uint64_t address) const {
  constexpr std::uint64_t kLittle = 4096;
  return std::any_of(memory_.begin(), memory_.end(), [&](const Memory& each) {
    if (!each.live || each.bytes.holds({address, 1})) return false;
    if (each.bytes.base > address && each.bytes.base - address <= kLittle) return true;
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Object& range) {
      const Bytes bytes{range.value, range.size};
      return range.live && bytes.holds({address, 1}) && bytes.holds(each.bytes);
    });
  });
}

bool Reference::ends_at(std::uint64_t address) const {
  const bool memory = std::any_of(memory_.begin(), memory_.end(), [&](const Memory& each) {
    return each.bytes.base + each.bytes.size == address;
  });
  return memory || std::any_of(ranges_.begin(), ranges_.end(), [&](const Object& range) {
           return Bytes{range.value, range.size}.holds({address - 1, 2}) ||
                  range.value + range.size == address;
         });
}

void Reference::judge_argument(Opinion& out, std::uint64_t address) const {
  const Bytes place{address, 1};
  const Memory* newest = nullptr;  // the live memory there, or else the last memory there
  bool behind = false;
  for (const Memory& each : memory_) {
    if (each.bytes.holds(place) && (!newest || !newest->live)) newest = &each;
    // A buffer outlives its external memory.
    const bool there = each.live || each.kind == Memory::Kind::kBuffer;
    behind |= there && each.bytes.base + each.bytes.size == address;
  }
  const Object* range = nullptr;  // likewise
  for (const Object& each : ranges_) {
    if (Bytes{each.value, each.size}.holds(place) && (!range || !range->live)) range = &each;
  }
  if (!newest && !range) return;
  const bool mapped = newest && newest->kind == Memory::Kind::kMapped;
  if (newest && newest->live) {
    if (!mapped || newest->readable) return;
    const bool doubtful =
        leads_elsewhere(address) || (newest->bytes.base == address && ends_at(address));
    (doubtful ? out.perhaps_vain : out.vain).push_back(Rule::kLaunchAccess);
    return;
  }
  // The launch may fail, whichever memory is there. A kernel may get the end of other memory as an
  // address.
  out.perhaps_vain = {Rule::kLaunchMapped, Rule::kLaunchAlive, Rule::kLaunchAccess};
  out.lost |= !behind;
  if (behind || !followed() || leads_elsewhere(address)) return;
  // The shim does not follow plain memory, so it may ignore such an address.
  const bool pooled = newest && newest->kind == Memory::Kind::kPool;
  if (range && range->live) {
    const bool here = mapped && newest->born > range->born;
    if (here || !newest) out.vain.push_back(here ? Rule::kLaunchAlive : Rule::kLaunchMapped);
  } else if (mapped || pooled || !newest) {
    out.vain.push_back(Rule::kLaunchAlive);
  }
}

void Reference::judge_launch(Opinion& out, int stream, int thread, const Uses& uses, Node also) {
  for (const Use& use : uses) {
    if (use.argument) judge_argument(out, use.bytes.base);
    Opinion early;
    find_early(early, stream, thread, use.bytes, also);
    const bool may_be_end = !(use.argument && use.touched) && ends_at(use.bytes.base);
    const bool seen = use.seen && !may_be_end;
    if (seen) out.early.insert(out.early.end(), early.early.begin(), early.early.end());
    if (use.seen && may_be_end) out.perhaps_vain.push_back(Rule::kDataPoolOrdered);
    out.lost |= early.lost || (!seen && !early.early.empty());
    if (use.touched) out.lost |= !usable(use.bytes);
  }
}

Opinion Reference::judge_kernel(std::uint64_t handle, int thread, const Uses& uses) {
  const int stream = history_.find(handle, thread);
  Opinion out;
  constexpr std::uint64_t kLastDefault = 2;
  out.made = stream >= 0 && !uses.empty() && !(capturing() && handle <= kLastDefault);
  if (out.made && stream != capture_) judge_launch(out, stream, thread, uses);
  return out;
}

Opinion Reference::judge(const calls::LaunchKernel& made, int thread) {
  return judge_kernel(value_of(made.hStream), thread,
                      uses_of(made.f, made.kernelParams, made.extra, made.blockDimX));
}
void Reference::accept(const calls::LaunchKernel& made, int thread) {
  queue_uses(value_of(made.hStream), thread,
             uses_of(made.f, made.kernelParams, made.extra, made.blockDimX));
}
Opinion Reference::judge(const calls::LaunchCooperativeKernel& made, int thread) {
  return judge_kernel(value_of(made.hStream), thread,
                      uses_of(made.f, made.kernelParams, nullptr, made.blockDimX));
}
void Reference::accept(const calls::LaunchCooperativeKernel& made, int thread) {
  queue_uses(value_of(made.hStream), thread,
             uses_of(made.f, made.kernelParams, nullptr, made.blockDimX));
}

// --- Graphs

Opinion Reference::judge(const calls::StreamBeginCapture& made, int thread) {
  constexpr std::uint64_t kLastDefault = 2;
  const std::uint64_t handle = value_of(made.hStream);
  return plain(handle > kLastDefault && history_.find(handle, thread) >= 0 &&
               made.mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}
void Reference::accept(const calls::StreamBeginCapture& made, int thread) {
  capture_ = history_.find(value_of(made.hStream), thread);
  captured_.clear();
}
Opinion Reference::judge(const calls::StreamEndCapture& made, int thread) {
  Opinion out;
  out.made = capturing() && history_.find(value_of(made.hStream), thread) == capture_;
  return out;
}
void Reference::accept(const calls::StreamEndCapture& made, int) {
  graphs_.push_back({value_of(*made.phGraph), captured_});
  capture_ = -1;
}
Opinion Reference::judge(const calls::GraphInstantiateWithFlags& made, int) {
  return plain(alive(graphs_, value_of(made.hGraph)) && made.flags == 0);
}
void Reference::accept(const calls::GraphInstantiateWithFlags& made, int) {
  executables_.push_back(
      {value_of(*made.phGraphExec), alive(graphs_, value_of(made.hGraph))->uses});
}
Opinion Reference::judge(const calls::GraphLaunch& made, int thread) {
  const Graph* graph = alive(executables_, value_of(made.hGraphExec));
  const int stream = history_.find(value_of(made.hStream), thread);
  Opinion out = plain(graph && stream >= 0);
  if (!out.made) return out;
  // The launches of an executable graph run one after the other, on whichever streams.
  judge_launch(out, stream, thread, graph->uses, graph->last);
  return out;
}
void Reference::accept(const calls::GraphLaunch& made, int thread) {
  Graph& graph = *alive(executables_, value_of(made.hGraphExec));
  graph.last = history_.add(history_.find(value_of(made.hStream), thread), graph.uses, graph.last);
  history_.mark_graph(graph.last);
}
// Programs update an executable graph only by a graph of equal form.
Opinion Reference::judge(const calls::GraphExecUpdate_v2& made, int) {
  const bool known = alive(executables_, value_of(made.hGraphExec)) != nullptr;
  return plain(known && alive(graphs_, value_of(made.hGraph)) && made.resultInfo);
}
void Reference::accept(const calls::GraphExecUpdate_v2& made, int) {
  alive(executables_, value_of(made.hGraphExec))->uses =
      alive(graphs_, value_of(made.hGraph))->uses;
}
Opinion Reference::judge(const calls::GraphExecDestroy& made, int) {
  return plain(alive(executables_, value_of(made.hGraphExec)) != nullptr);
}
void Reference::accept(const calls::GraphExecDestroy& made, int) {
  alive(executables_, value_of(made.hGraphExec))->live = false;
}

}  // namespace cuvmm::fuzz::flight
