// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/refusal_text.h"

#include <algorithm>

#include "api/driver/driver.h"
#include "api/words.h"
#include "frames/stack_text.h"
#include "rulebook/base/violation.h"
#include "shim/findings/finding_members.h"
#include "shim/output/json.h"

namespace cuvmm::shim {

namespace {

// Printed at the end of a process; the report has all of them.
constexpr std::size_t kMostSaid = 8;
constexpr std::size_t kMostUnchecked = 3;
constexpr const char* kWhyUnchecked =
    "    cuvmm did not check this call. A program that remembers its error may report it at "
    "another place\n";

const char* rule_of(const Refusal& refusal) {
  if (refusal.result != CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  if (refusal.entry == EntryPoint::kMemCreate) return info(Rule::kCreateFits).id;
  if (refusal.entry == EntryPoint::kMemAddressReserve) return info(Rule::kReserveCapacity).id;
  return nullptr;
}

void add_others(std::string& out, const std::vector<Neighbour>& others) {
  add_key(out, "others");
  out += '[';
  for (const Neighbour& one : others) {
    out += out.back() == '[' ? "{" : ",{";
    add_number(out, "pid", static_cast<std::uint64_t>(one.pid));
    add_text(out, "program", one.program);
    if (one.bytes != 0) add_number(out, "bytes", one.bytes);
    if (one.shows) {
      add_key(out, "held");
      out += '{';
      add_number(out, "mapped", one.mapped);
      add_number(out, "unmapped", one.unmapped);
      add_number(out, "pools", one.pools);
      add_number(out, "plain", one.plain);
      out += '}';
    }
    out += '}';
  }
  out += ']';
}

void add_memory(std::string& out, const RefusalEntry& entry) {
  const MemoryFacts& facts = *entry.refusal.memory;
  if (facts.device >= 0) add_number(out, "device", static_cast<std::uint64_t>(facts.device));
  if (facts.measured) {
    add_number(out, "free", facts.free);
    add_number(out, "total", facts.total);
  }
  add_key(out, "held");
  out += '{';
  add_number(out, "bytes", facts.held.sum() + facts.graphs);
  add_number(out, "mapped", facts.held.mapped);
  add_number(out, "unmapped", facts.held.unmapped);
  add_number(out, "exported", facts.held.exported);
  add_number(out, "pools", facts.held.pools);
  add_number(out, "plain", facts.held.plain);
  if (facts.graphs != 0) add_number(out, "graphs", facts.graphs);
  out += '}';
  const std::uint64_t cached = facts.cached + facts.cached_in_created;
  if (cached != 0) add_number(out, "pools_cached", cached);
  if (facts.graphs_idle != 0) add_number(out, "graphs_idle", facts.graphs_idle);
  if (!facts.others.empty()) add_others(out, facts.others);
  add_key(out, "creators");
  out += '[';
  for (std::size_t i = 0; i < facts.held.creators.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    add_number(out, "bytes", facts.held.creators[i].bytes);
    add_number(out, "count", facts.held.creators[i].count);
    add_frames(out, "stack", entry.creators[i]);
    out += '}';
  }
  out += ']';
}

void add_addresses(std::string& out, const AddressFacts& facts) {
  add_number(out, "largest_free_range", facts.largest_free);
  if (facts.limit != 0) add_number(out, "address_space_limit", facts.limit);
  add_number(out, "reserved", facts.reserved);
  add_number(out, "reservations", facts.reservations);
}

void add_part(std::string& text, std::uint64_t bytes, const char* what) {
  if (bytes == 0) return;
  if (!text.empty()) text += ", ";
  text += rough_size_text(bytes) + " " + what;
}

std::string neighbour_text(const Neighbour& one) {
  std::string text = "      process " + std::to_string(one.pid);
  if (!one.program.empty()) text += " (" + one.program + ")";
  text += one.bytes != 0 ? " has " + rough_size_text(one.bytes) : std::string(" uses this device");
  std::string parts;
  add_part(parts, one.mapped, "mapped");
  add_part(parts, one.unmapped, "mapped nowhere");
  add_part(parts, one.pools, "taken from pools");
  add_part(parts, one.plain, "of cuMemAlloc and its like");
  if (!parts.empty()) text += ": " + parts;
  return text + '\n';
}

// An allocator's function does not show which code wants the memory; the line of Python above it
// does.
std::string program_place(const std::vector<Frame>& frames) {
  const std::string place = place_text(frames);
  const auto python = std::ranges::find_if(frames, &Frame::python);
  const std::string line = python == frames.end() ? place : frame_text(*python);
  return line == place ? place : place + ", for " + line;
}

std::string memory_text(const RefusalEntry& entry) {
  const MemoryFacts& facts = *entry.refusal.memory;
  const HeldMemory& held = facts.held;
  std::string text = "    ";
  if (facts.device >= 0) text += "device " + std::to_string(facts.device) + ": ";
  if (facts.measured) {
    text += rough_size_text(facts.free) + " of " + rough_size_text(facts.total) + " free; ";
  }
  std::string parts;
  add_part(parts, held.mapped, "mapped");
  add_part(parts, held.unmapped, "mapped nowhere, kept by handles");
  add_part(parts, held.pools, "taken from pools");
  add_part(parts, held.plain, "of cuMemAlloc and its like");
  add_part(parts, facts.graphs, "allocated by nodes of graphs");
  text += "this program holds " +
          (parts.empty() ? "nothing" : rough_size_text(held.sum() + facts.graphs));
  if (!parts.empty()) text += " (" + parts + ")";
  const std::uint64_t used = facts.total - facts.free,
                      cached = facts.cached + facts.cached_in_created;
  if (cached != 0) {
    const char* const whose = facts.cached_in_created == 0 ? "default pool keeps "
                              : facts.cached == 0          ? "own pools keep "
                                                           : "own and its default pool keep ";
    text += std::string(", its ") + whose + rough_size_text(cached) +
            " of which nothing is allocated (cuMemPoolTrimTo gives it back)";
  }
  if (facts.graphs_idle != 0) {
    text += ", the device keeps " + rough_size_text(facts.graphs_idle) +
            " for this program's graphs, of which nothing is allocated (cuDeviceGraphMemTrim gives "
            "it back)";
  }
  if (facts.measured && used > facts.known()) {
    text += ", other processes and the driver " + rough_size_text(used - facts.known());
  }
  text += '\n';
  for (const Neighbour& one : facts.others) text += neighbour_text(one);
  for (std::size_t i = 0; i < held.creators.size() && i < 2; ++i) {
    const HeldMemory::Creator& creator = held.creators[i];
    text += "      " + rough_size_text(creator.bytes) + " in " +
            count_text(creator.count, "allocation");
    if (!entry.creators[i].empty()) text += ", made at " + program_place(entry.creators[i]);
    text += '\n';
  }
  return text;
}

std::string addresses_text(const AddressFacts& facts) {
  std::string text =
      "    the largest free range of addresses has " + rough_size_text(facts.largest_free);
  if (facts.limit != 0) text += ", and RLIMIT_AS is " + rough_size_text(facts.limit);
  return text + "; this program has reserved " + rough_size_text(facts.reserved) + " in " +
         count_text(facts.reservations, "reservation") + "\n";
}

std::string given_text(const Refusal& refusal) {
  if (refusal.given.empty()) return {};
  std::string text;
  for (const auto& [name, value] : refusal.given) {
    text += (text.empty() ? "(" : ", ") + name + "=" + value;
  }
  return text + ")";
}

std::string one_text(const RefusalEntry& entry, std::uint64_t count) {
  const Refusal& refusal = entry.refusal;
  std::string text = "cuvmm: refused: ";
  if (refusal.runtime) text += std::string(refusal.runtime) + ": ";
  text += refusal.unchecked.empty() ? call_text(refusal.entry, refusal.arguments)
                                    : refusal.unchecked + given_text(refusal);
  text += " answered " + result_name(refusal.result);
  if (const char* rule = rule_of(refusal)) text += std::string(" [") + rule + "]";
  if (count > 1) text += ", " + std::to_string(count) + " times";
  if (!entry.stack.empty()) text += ", at " + program_place(entry.stack);
  text += '\n';
  if (refusal.late) {
    text += "    the code speaks of work that failed earlier, not of this call\n";
  }
  if (!refusal.driver_message.empty()) text += "    the driver: " + refusal.driver_message + '\n';
  if (refusal.memory) text += memory_text(entry);
  for (std::size_t i = 0; i < refusal.asides.size(); ++i) {
    text += "    " + refusal.asides[i].text;
    if (!entry.asides[i].empty()) text += ", at " + program_place(entry.asides[i]);
    text += '\n';
  }
  if (refusal.addresses) text += addresses_text(*refusal.addresses);
  return text;
}

}  // namespace

std::string refusal_members(const RefusalEntry& entry) {
  const Refusal& refusal = entry.refusal;
  std::string out;
  const bool checked = refusal.unchecked.empty();
  add_text(out, "call", checked ? name(refusal.entry) : refusal.unchecked.c_str());
  if (!checked) {
    add_key(out, "unchecked");
    out += "true";
  }
  if (refusal.runtime) add_text(out, "runtime", refusal.runtime);
  if (checked) {
    add_arguments(out, refusal.arguments);
  } else {
    add_key(out, "arguments");
    out += '{';
    for (const auto& [name, value] : refusal.given) add_text(out, name.c_str(), value);
    out += '}';
  }
  add_text(out, "result", result_name(refusal.result));
  if (const char* rule = rule_of(refusal)) add_text(out, "rule", rule);
  if (refusal.forked_from != 0) {
    add_number(out, "forked_from", static_cast<std::uint64_t>(refusal.forked_from));
  }
  if (refusal.late) {
    add_key(out, "of_earlier_work");
    out += "true";
  }
  add_number(out, "call_index", refusal.call_index);
  add_frames(out, "stack", entry.stack);
  add_text(out, "driver_message", refusal.driver_message);
  add_key(out, "facts");
  out += '{';
  if (refusal.memory) add_memory(out, entry);
  if (refusal.addresses) add_addresses(out, *refusal.addresses);
  if (!refusal.asides.empty()) {
    add_key(out, "known");
    out += '[';
    for (const Refusal::Aside& aside : refusal.asides) {
      if (out.back() != '[') out += ',';
      out += json_string(aside.text);
    }
    out += ']';
  }
  out += '}';
  return out;
}

std::string refusals_text(const RefusalEntry* first) {
  std::string text;
  std::size_t named_count = 0, left = 0, unchecked = 0;
  for (const RefusalEntry* entry = first; entry; entry = entry->next.load()) {
    const std::uint64_t handled = entry->handled.load(), count = entry->count.load();
    if (!entry->ready.load() || entry->quiet || handled >= count) continue;
    const bool named = entry->refusal.unchecked.empty() || unchecked++ < kMostUnchecked;
    if (named && named_count++ < kMostSaid) {
      text += one_text(*entry, count - handled);
      const bool cause_known = entry->refusal.result == CUDA_ERROR_NOT_INITIALIZED;
      if (unchecked == 1 && !entry->refusal.unchecked.empty() && !cause_known)
        text += kWhyUnchecked;
    } else {
      ++left;
    }
  }
  if (left != 0) {
    text += "cuvmm: refused: " + std::to_string(left) + " more; the report has them\n";
  }
  return text;
}

}  // namespace cuvmm::shim
