// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/names.h"

#include <atomic>
#include <cstring>
#include <new>

#include "shim/base/owned_mutex.h"
#include "shim/stack/python/line_table.h"
#include "shim/stack/python/text.h"

namespace cuvmm::shim {

namespace {

constexpr std::size_t kBuckets = 1 << 13;
constexpr std::size_t kBlock = 1 << 16;
constexpr std::size_t kMostText = 1 << 22;

struct Known {
  std::uint64_t key;
  PythonName name;
  std::uint32_t next;
};

// Zero pages until they are written; never destroyed.
struct Names {
  OwnedMutex mutex;
  std::uint32_t buckets[kBuckets];
  Known known[kMostPythonNames];
  std::uint32_t count;
  char* block;
  std::size_t block_left, text;
  const char* last_file;  ///< in most cases the next name's file too
  std::atomic<std::size_t> dropped;
};
constinit Names g_names{};

constexpr std::size_t kLongestFunction = 256, kLongestFile = 512;
struct Copied {
  char function[kLongestFunction];
  char file[kLongestFile];
  int line;
};

std::uint32_t find(std::uint64_t key) CUVMM_NEEDS(g_names.mutex) {
  std::uint32_t i = g_names.buckets[key % kBuckets];
  while (i != 0 && g_names.known[i].key != key) i = g_names.known[i].next;
  return i;
}

const char* keep(const char* text) CUVMM_NEEDS(g_names.mutex) {
  const std::size_t size = std::strlen(text) + 1;
  if (g_names.block_left < size) {
    if (g_names.text + kBlock > kMostText) return nullptr;
    g_names.block = new (std::nothrow) char[kBlock];
    g_names.block_left = g_names.block ? kBlock : 0;
    if (!g_names.block) return nullptr;
    g_names.text += kBlock;
  }
  char* const place = g_names.block + (kBlock - g_names.block_left);
  std::memcpy(place, text, size);
  g_names.block_left -= size;
  return place;
}

bool copy_text(const PythonInterpreter& python, GuardedMemory& memory, std::uintptr_t object,
               char* out, std::size_t room) {
  PythonText text;
  return text.find(memory, object, python.string_type, python.layout.ascii_size) &&
         text.copy(memory, out, room);
}

bool copy(const PythonInterpreter& python, GuardedMemory& memory, const PythonPlace& place,
          Copied& copied) {
  const PythonLayout& layout = python.layout;
  std::uintptr_t file = 0, name = 0, lines = 0, type = 0;
  std::int32_t first_line = 0;
  std::size_t size = 0;
  if (!memory.read(place.code + layout.code.filename, file) ||
      !memory.read(place.code + layout.code.name, name) ||
      !memory.read(place.code + layout.code.lines, lines) ||
      !memory.read(place.code + layout.code.first_line, first_line) ||
      !memory.read(lines + PythonLayout::kObjectType, type) || type != python.bytes_type ||
      !memory.read(lines + PythonLayout::kObjectSize, size) ||
      !copy_text(python, memory, file, copied.file, kLongestFile) ||
      !copy_text(python, memory, name, copied.function, kLongestFunction))
    return false;
  copied.line = python_line(layout.lines, memory, lines + PythonLayout::kBytesData, size,
                            first_line, place.instruction);
  // Code that the compiler added has no line of its own.
  if (copied.line <= 0) copied.line = first_line;
  return true;
}

std::uint32_t add(std::uint64_t key, const Copied& copied) CUVMM_NEEDS(g_names.mutex) {
  if (g_names.count + 1 == kMostPythonNames) return 0;
  const bool same_file = g_names.last_file && std::strcmp(g_names.last_file, copied.file) == 0;
  const char* const file = same_file ? g_names.last_file : keep(copied.file);
  const char* const function = keep(copied.function);
  if (!file || !function) return 0;
  g_names.last_file = file;
  const std::uint32_t i = ++g_names.count;
  std::uint32_t& head = g_names.buckets[key % kBuckets];
  g_names.known[i] = {key, {function, file, copied.line}, head};
  head = i;
  return i;
}

}  // namespace

PythonWord name_python_place(const PythonInterpreter& python, GuardedMemory& memory,
                             const PythonPlace& place) noexcept {
  const PythonWord entry = place.entry ? kPythonEntry : 0;
  if (g_names.mutex.held_here())
    return 0;  // called by a signal handler that interrupted this very
               // function
  {
    const Locked lock(g_names.mutex);
    if (const std::uint32_t known = find(place.key)) return known | entry;
  }
  Copied copied;
  if (!copy(python, memory, place, copied)) return 0;
  const Locked lock(g_names.mutex);
  if (const std::uint32_t known = find(place.key)) return known | entry;
  const std::uint32_t added = add(place.key, copied);
  if (added == 0) {
    g_names.dropped.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  return added | entry;
}

const PythonName& python_name(PythonWord word) noexcept {
  static constexpr PythonName kNone{"", "", 0};
  const PythonWord i = word & ~kPythonEntry;
  // The code that passed the word to this thread has ordered the writes to its name before.
  return i != 0 && i < kMostPythonNames ? g_names.known[i].name : kNone;
}

std::vector<frames::PythonLine> python_lines(std::span<const PythonWord> words) {
  std::vector<frames::PythonLine> lines;
  lines.reserve(words.size());
  for (const PythonWord word : words) {
    const PythonName& name = python_name(word);
    lines.push_back({static_cast<std::uint32_t>(word & ~kPythonEntry), (word & kPythonEntry) != 0,
                     name.line, name.function ? name.function : "", name.file ? name.file : ""});
  }
  return lines;
}

std::size_t dropped_python_names() noexcept {
  return g_names.dropped.load(std::memory_order_relaxed);
}

bool lock_python_names() noexcept { return g_names.mutex.lock_for_fork(); }
void unlock_python_names() noexcept CUVMM_UNCHECKED { g_names.mutex.unlock(); }

}  // namespace cuvmm::shim
