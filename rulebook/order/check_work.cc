// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/check_work.h"

namespace cuvmm {
namespace detail {

namespace {

// More objects would hide the first.
constexpr std::size_t kMostNamed = 4;

std::string use_text(const FoundWork& found) {
  const std::string call =
      found.queued.call == 0 ? "" : ", call " + std::to_string(found.queued.call);
  if (found.size != 0) return " (" + range(found.base, found.size) + call + ")";
  const char* const untyped = found.evidence == Evidence::kByType ? "" : ", an untyped value";
  const char* const end = found.is_end       ? ", the end of it"
                          : found.may_be_end ? ", which is also the end of what lies before"
                                             : "";
  return " (argument " + hex_text(found.base) + untyped + end + call + ")";
}

ObjectRef ref(const FoundWork& found) {
  ObjectRef object{ObjectRef::Kind::kWork, found.base, found.size, found.queued, {}};
  object.work = found.work;
  return object;
}

std::string state_text(FoundWork::State state) {
  switch (state) {
    case FoundWork::State::kInFlight:
      return " is not finished";
    case FoundWork::State::kMayBeInFlight:
      return " may not be finished: nothing has waited for it, and its stream is busy";
    case FoundWork::State::kUnordered:
      return " happens to be finished, but nothing has waited for it";
  }
  return "";
}

void add_some(Collector& out, const Facts::Order& order, bool certain, Rule rule,
              const std::string& taken) {
  Violation* violation = nullptr;
  std::size_t more = 0;
  for (std::size_t i = 0; i < order.count; ++i) {
    const FoundWork& found = order.work[i];
    if ((found.state == FoundWork::State::kInFlight) != certain) continue;
    if (!violation) {
      violation = &out.add(rule, taken + " while " + work_text(*found.work) + use_text(found) +
                                     state_text(found.state));
    } else {
      ++more;
    }
    if (violation->objects.size() < kMostNamed) violation->objects.push_back(ref(found));
  }
  if (more != 0) violation->message += "; " + std::to_string(more) + " more use it";
}

}  // namespace

std::string stream_text(std::uint64_t stream) {
  constexpr std::uint64_t kLegacy = 1, kPerThread = 2;
  if (stream <= kLegacy) return "the legacy default stream";
  if (stream == kPerThread) return "the default stream of a thread";
  return "stream " + hex_text(stream);
}

std::string work_text(const Work& work) {
  const std::string text = std::string(work.what) == "kernel" && !work.function.empty()
                               ? "the kernel " + work.function
                               : std::string("a ") + work.what;
  return text + " on " + stream_text(work.stream);
}

void add_work(Collector& out, const Facts::Order& order, Rule in_flight, Rule ordered,
              const std::string& taken) {
  add_some(out, order, true, in_flight, taken);
  add_some(out, order, false, ordered, taken);
}

}  // namespace detail

using namespace detail;

Violations check_early_use(const Model& model, const EarlyUse& early) {
  const PoolMemory* const memory = model.pools().memory_at(early.address);
  if (!memory && !early.of_graph) return {};
  Collector out;
  Violation& violation = out.add(
      Rule::kDataPoolOrdered,
      early.use +
          (early.of_graph ? ", memory that a graph's launch on " : ", memory of a pool that ") +
          stream_text(early.allocated_on) + " allocates; nothing orders " +
          stream_text(early.used_on) + " behind the allocation");
  if (memory) violation.objects.push_back(detail::ref(*memory));
  return out.take();
}

}  // namespace cuvmm
