// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/python_stack.h"

#include <dlfcn.h>
#include <link.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "api/posix/cancel_off.h"
#include "api/words.h"
#include "shim/base/call_hooks.h"

namespace cuvmm::shim {

constinit std::atomic<const PythonInterpreter*> g_python{nullptr};

namespace {

constinit PythonInterpreter g_found{};
std::atomic<bool> g_unwanted{false}, g_looked{false};
std::atomic<std::uint32_t> g_unknown_version{0}, g_odd{0};
// So many stacks may be odd before cuvmm stops to read Python's frames: a signal handler that makes
// calls may have interrupted the interpreter itself.
constexpr std::uint32_t kMostOdd = 16;

/// Finds symbols in the library that contains the interpreter.
class Library {
 public:
  Library() {
    if (::dlsym(RTLD_DEFAULT, kThreadState)) return;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
          const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
          const std::string_view file = path.substr(path.rfind('/') + 1);
          if (!file.starts_with("libpython3.") || file.starts_with("libpython3.so")) return 0;
          *static_cast<std::string*>(found) = path;
          return 1;
        },
        &path_);
    if (!path_.empty()) handle_ = ::dlopen(path_.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != RTLD_DEFAULT) ::dlclose(handle_);
  }
  void* find(const char* name) const { return ::dlsym(handle_, name); }
  std::uintptr_t address(const char* name) const {
    return reinterpret_cast<std::uintptr_t>(find(name));
  }

  static constexpr const char* kThreadState = "PyGILState_GetThisThreadState";

 private:
  std::string path_;
  void* handle_ = RTLD_DEFAULT;
};

// "3.10.13 (main, ...)" as 0x030a0df0. Accepts only a release: other builds call themselves
// "3.10.0rc1+".
std::uint32_t version_of(std::string_view text) {
  std::uint32_t parts[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint32_t& part : parts) {
    const auto [stop, error] = std::from_chars(at, end, part);
    if (error != std::errc{} || part > 255) return 0;
    at = stop == end ? stop : stop + 1;
  }
  const bool release = at == end || at[-1] == ' ' || at[-1] == '+';
  return parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | (release ? 0xf0 : 0xa0);
}

std::uint32_t version_of(const Library& library) {
  if (const auto* number = static_cast<const unsigned long*>(library.find("Py_Version"))) {
    return static_cast<std::uint32_t>(*number);
  }
  const auto text = reinterpret_cast<const char* (*)()>(library.find("Py_GetVersion"));
  return text ? version_of(text()) : 0;
}

// Whether objects begin as in an ordinary build: in a debug build of 3.9 they may have two words
// more, and then no type is at its expected offset.
bool objects_are_known(const PythonInterpreter& python, std::uintptr_t type_type) {
  GuardedMemory memory{};
  std::uintptr_t type = 0;
  for (const std::uintptr_t object : {python.code_type, python.string_type, python.bytes_type}) {
    if (object == 0 || !memory.read(object + PythonLayout::kObjectType, type) || type != type_type)
      return false;
  }
  return true;
}

}  // namespace

void find_python() noexcept {
  if (g_unwanted.load(std::memory_order_relaxed) || python_here() || g_unknown_version.load())
    return;
  const CancelOff no_cancel;
  const Library library;
  void* const state = library.find(Library::kThreadState);
  if (!state) return;
  if (g_looked.exchange(true)) return;  // another thread looks already
  const std::uint32_t version = version_of(library);
  std::uint64_t offsets[kDebugOffsetWords] = {};
  GuardedMemory memory{};
  const std::uintptr_t runtime = library.address("_PyRuntime");
  if (memory.readable(runtime, sizeof offsets)) {
    std::memcpy(offsets, reinterpret_cast<const void*>(runtime), sizeof offsets);
  }
  const auto layout = python_layout(version, offsets);
  PythonInterpreter& python = g_found;
  python.thread_state = reinterpret_cast<void* (*)()>(state);
  python.code_type = library.address("PyCode_Type");
  python.string_type = library.address("PyUnicode_Type");
  python.bytes_type = library.address("PyBytes_Type");
  // Before PyType_Type is ready, the types of an embedded interpreter have no type themselves:
  // find_python() will look again.
  if (!layout) {
    g_unknown_version.store(version == 0 ? 1 : version);
  } else if (objects_are_known(python, library.address("PyType_Type"))) {
    python.layout = *layout;
    g_python.store(&python, std::memory_order_release);
    g_hooks.stacks_have_more.store(true, std::memory_order_relaxed);
  } else {
    g_looked.store(false);
  }
}

void do_without_python() noexcept {
  g_unwanted.store(true);
  g_python.store(nullptr);
}

bool PythonStack::take(const PythonInterpreter& python) noexcept {
  const auto state = reinterpret_cast<std::uintptr_t>(python.thread_state());
  if (state == 0) return false;
  if (memory.begin() && codes) codes->forget();
  const PythonWalk::End end = walk.read(python, memory, codes, state);
  if (end == PythonWalk::End::kOdd && g_odd.fetch_add(1) + 1 >= kMostOdd) do_without_python();
  if (end != PythonWalk::End::kWhole) return false;
  key = walk.count;
  for (std::uint32_t i = 0; i < walk.count; ++i) {
    key = (key ^ walk.places[i].key) * 0x9e3779b97f4a7c15u;
    key ^= key >> 29;
  }
  return true;
}

std::span<const PythonWord> PythonStack::words(
    const PythonInterpreter& python, std::array<PythonWord, kMaxPythonFrames>& buffer) noexcept {
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < walk.count; ++i) {
    if (const PythonWord word = name_python_place(python, memory, walk.places[i])) {
      buffer[count++] = word;
    } else if (count != 0 && walk.places[i].entry) {
      buffer[count - 1] |= kPythonEntry;
    }
  }
  return std::span(buffer).first(count);
}

std::string python_trouble() {
  if (const std::uint32_t version = g_unknown_version.load()) {
    const std::string text =
        std::to_string(version >> 24) + "." + std::to_string(version >> 16 & 0xff);
    return "stacks have no Python frames: the memory of this Python (" + text +
           ") is not known, or it runs without the GIL; known are 3.9 to 3.14 with it";
  }
  const std::uint32_t odd = g_odd.load();
  if (odd >= kMostOdd) {
    return "stacks have no more Python frames: in " + std::to_string(odd) +
           " of them the interpreter's memory was not as expected";
  }
  if (const std::size_t dropped = dropped_python_names()) {
    return std::to_string(dropped) + " Python frames were left out of stacks: too many places";
  }
  return {};
}

}  // namespace cuvmm::shim
