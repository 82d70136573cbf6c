// SPDX-License-Identifier: Apache-2.0
#include "shim/driver/memory_names.h"

#include <algorithm>
#include <iterator>

#include "api/symbols/symbols.h"

namespace cuvmm::shim {

namespace {

// Their names contain the word "memory", but their parameters have no address, handle or pool.
constexpr std::string_view kNoMemory[] = {"cuArrayGetMemoryRequirements", "cuDeviceTotalMem",
                                          "cuDeviceTotalMem_v2", "cuLogsDumpToMemory",
                                          "cuMipmappedArrayGetMemoryRequirements"};
constexpr std::string_view kWords[] = {"Checkpoint", "Endpoint",  "External", "Graphics",
                                       "Ipc",        "Multicast", "Pointer"};
// Names without such a word. Legacy OpenGL buffers and EGL streams give the program addresses and
// arrays; a texture reference names memory.
constexpr std::string_view kBeginnings[] = {"cuEGLStream",        "cuFabric",
                                            "cuGLMapBuffer",      "cuGLRegisterBuffer",
                                            "cuGLUnmapBuffer",    "cuGLUnregisterBuffer",
                                            "cuTexRefSetAddress", "cuVDPAU"};
// They act on memory that the driver keeps for itself.
constexpr std::string_view kHarmless[] = {"cuDeviceGraphMemTrim", "cuDeviceSetGraphMemAttribute",
                                          "cuTexRefSetAddressMode", "cuVDPAUCtxCreate"};
constexpr std::string_view kQuestions[] = {"Get", "Can", "Query"};

// Takes the next word of a name in camel case off its front: "Stream", "Write", "Value" of
// "StreamWriteValue32_v2". Empty if no word is left.
std::string_view take_word(std::string_view& name) {
  const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto begin = std::find_if(name.begin(), name.end(), capital);
  name.remove_prefix(static_cast<std::size_t>(begin - name.begin()));
  if (name.empty()) return {};
  const auto end = std::find_if_not(name.begin() + 1, name.end(), small);
  const std::string_view word = name.substr(0, static_cast<std::size_t>(end - name.begin()));
  name.remove_prefix(word.size());
  return word;
}

template <class Field>
bool in_table(std::string_view name, Field SymbolInfo::*field) {
  return std::ranges::any_of(symbols(),
                             [&](const SymbolInfo& info) { return name == info.*field; });
}

std::string about_memory(std::string_view name, std::string_view how) {
  std::string text(name);
  return text.append(how).append(": a function about memory that is not checked");
}

}  // namespace

bool concerns_memory(std::string_view name) {
  if (!name.starts_with("cu") || std::ranges::find(kNoMemory, name) != std::end(kNoMemory)) {
    return false;
  }
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  if (std::ranges::any_of(kBeginnings, begins)) return true;
  std::string_view before;
  for (std::string_view word = take_word(name); !word.empty(); word = take_word(name)) {
    // Shared memory belongs to a kernel, and is no memory of these functions: "SharedMem", "SMem".
    if (word.starts_with("Mem") && before != "Shared" && before != "S") return true;
    if (std::ranges::find(kWords, word) != std::end(kWords)) return true;
    if (word == "Value" && (before == "Wait" || before == "Write")) return true;
    before = word;
  }
  return false;
}

bool changes_memory(std::string_view name) {
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  if (!concerns_memory(name) || std::ranges::any_of(kHarmless, begins)) return false;
  for (std::string_view word = take_word(name); !word.empty(); word = take_word(name)) {
    if (std::ranges::find(kQuestions, word) != std::end(kQuestions)) return false;
  }
  return true;
}

std::optional<std::string> unchecked_query(std::string_view query) {
  if (!concerns_memory(query) || in_table(query, &SymbolInfo::query)) return std::nullopt;
  return about_memory(query, " asked for");
}

std::optional<std::string> unchecked_symbol(std::string_view symbol) {
  for (const SymbolInfo& info : symbols()) {
    if (symbol != info.name) continue;
    const bool is_intercepted = std::ranges::any_of(symbols(), [&](const SymbolInfo& other) {
      return std::string_view(info.query) == other.query && intercepted(other.entry);
    });
    if (info.entry != EntryPoint::kCount || !is_intercepted) return std::nullopt;
    return std::string(symbol) + " called: an ABI that is not checked";
  }
  if (!concerns_memory(symbol)) return std::nullopt;
  return about_memory(symbol, " called");
}

}  // namespace cuvmm::shim
