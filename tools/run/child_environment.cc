// SPDX-License-Identifier: Apache-2.0
#include "tools/run/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tools/run/elf_file.h"

namespace cuvmm::tools {

namespace {

#if defined(__aarch64__)
constexpr const char* kMultiarch = "aarch64-linux-gnu";
#else
constexpr const char* kMultiarch = "x86_64-linux-gnu";
#endif

// Runtimes of sanitizers insist on coming before everything else.
bool sanitizer_runtime(const std::string& library) {
  const std::string name = std::filesystem::path(library).filename();
  for (const char* prefix :
       {"libasan", "libtsan", "liblsan", "libubsan", "libhwasan", "libclang_rt."}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

// Whether it is one of the libraries, by the name that this cuvmm or an outer one gave it.
bool is_ours(const std::string& word, const Layout& layout) {
  const auto is = [&](const std::string& library) {
    if (library.empty()) return false;
    return word == library ||
           word.ends_with("/$LIB/" + std::filesystem::path(library).filename().string());
  };
  return is(layout.shim) || is(layout.other_libc) || std::ranges::any_of(layout.runtimes, is);
}

// Where the loader finds a word of LD_PRELOAD; "" where nobody knows.
std::string found_library(const std::string& word, const std::string& search) {
  if (word.find('/') != std::string::npos) return word;
  std::istringstream folders(search + ":/lib/" + kMultiarch + ":/usr/lib/" + kMultiarch +
                             ":/lib64:/usr/lib64:/usr/local/lib:/lib:/usr/lib");
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + word;
    if (std::filesystem::exists(path, error)) return path;
  }
  return "";
}

// The shim first, and what else of ours is wanted behind it: `wanted`. Of the rest, whatever an
// outer cuvmm put there goes. Before the shim stays what stands between the program and the driver:
// the program calls it as without cuvmm, and it finds the shim where it looks for the driver.
std::string preload(const std::string& existing, const Layout& layout,
                    const std::vector<std::string>& wanted, const std::string& search) {
  std::string first, rest, word;
  std::string separated = existing;
  for (char& c : separated) {
    if (c == ':') c = ' ';
  }
  std::istringstream words(separated);
  while (words >> word) {
    if (is_ours(word, layout)) continue;
    const bool before =
        sanitizer_runtime(word) || between_program_and_driver(found_library(word, search));
    (before ? first : rest) += ":" + word;
  }
  std::string ours = preload_word(layout, layout.shim);
  for (const std::string& library : wanted) ours += ":" + preload_word(layout, library);
  // By its own path, which every loader knows. Without the others' it has nothing to say.
  if (!layout.preload.empty() && !layout.other_libc.empty()) ours += ":" + layout.other_libc;
  return (first.empty() ? "" : first.substr(1) + ":") + ours + rest;
}

std::string search_path(const std::string& existing, const std::string& folder) {
  // An empty element would mean the current folder: keep those that are there, add none.
  if (existing.empty() || existing == folder) return folder;
  if (existing.rfind(folder + ":", 0) == 0) return existing;
  return folder + ":" + existing;
}

// Settings that stand in the user's own value win: the runtime takes the last one.
std::string sanitizer_options(const std::string& existing) {
  const std::string ours = "verify_asan_link_order=0:protect_shadow_gap=0";
  return existing.empty() ? ours : ours + ":" + existing;
}

std::string with_commas(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// Copies of NVTX in the program ask the library that this variable names. Another tool, which named
// itself before, is asked by the shim.
void add_nvtx(Environment& environment, const RunSettings& options, const Layout& layout) {
  constexpr const char* kTool = "NVTX_INJECTION64_PATH";
  constexpr const char* kNext = "CUVMM_NVTX_NEXT";
  const auto tool = environment.find(kTool);
  if (options.no_nvtx) {
    if (tool == environment.end() || tool->second != layout.shim) return;
    // An outer cuvmm put it there: what it found goes back.
    const std::string next = environment[kNext];
    environment.erase(kNext);
    environment.erase(kTool);
    if (!next.empty()) environment[kTool] = next;
    return;
  }
  if (tool != environment.end() && !tool->second.empty() && tool->second != layout.shim)
    environment[kNext] = tool->second;
  environment[kTool] = layout.shim;
  if (!options.nvtx_include.empty())
    environment["CUVMM_NVTX_INCLUDE"] = with_commas(options.nvtx_include);
}

}  // namespace

Environment current_environment() {
  Environment result;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos)
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

Environment child_environment(Environment environment, const RunSettings& options,
                              const Layout& layout, const std::string& report_folder) {
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) environment[name] = value;
  };
  // NVIDIA's libcudart needs a real driver; the emulator has its own. It has to be preloaded: a
  // program with DT_RPATH (every wheel of PyTorch's) looks there before LD_LIBRARY_PATH.
  environment["LD_PRELOAD"] =
      preload(environment["LD_PRELOAD"], layout,
              options.emulate ? layout.runtimes : std::vector<std::string>{},
              environment["LD_LIBRARY_PATH"]);
  std::string folders = layout.links;
  if (options.emulate) {
    const std::filesystem::path emulator = std::filesystem::path(layout.emulator).parent_path();
    folders += ":" + emulator.string();
    if (options.python) {
      environment["PYTHONPATH"] = search_path(environment["PYTHONPATH"], emulator / "python");
    }
  }
  environment["LD_LIBRARY_PATH"] = search_path(environment["LD_LIBRARY_PATH"], folders);
  // The program, or one that it starts, may be built with AddressSanitizer, which refuses to run
  // behind a preloaded library and whose shadow gap lies where the driver maps memory.
  environment["ASAN_OPTIONS"] = sanitizer_options(environment["ASAN_OPTIONS"]);

  // The processes report into the folder; the runner writes the files and decides on exit codes.
  environment.erase("CUVMM_REPORT");
  environment.erase("CUVMM_ERROR_EXITCODE");
  environment["CUVMM_REPORT_DIR"] = report_folder;
  environment.erase("CUVMM_TIMELINE");
  if (options.timeline) environment["CUVMM_TIMELINE"] = report_folder;
  environment["CUVMM_NO_SUMMARY"] = "1";  // it sums up, for all processes

  if (options.emulate) {
    environment["CUVMM_DRIVER"] = layout.emulator;
  } else {
    set("CUVMM_DRIVER", options.driver);
  }
  set("CUVMM_PROFILE", options.profile);
  if (options.devices > 0) environment["CUVMM_DEVICES"] = std::to_string(options.devices);
  set("CUVMM_STREAMS", options.streams);
  set("CUVMM_HOSTILE", options.hostile);
  if (options.enforce) environment["CUVMM_ENFORCE"] = "1";
  set("CUVMM_SUPPRESSIONS", options.suppressions);
  set("CUVMM_LEAK_CHECK", options.leak_check);
  set("CUVMM_ASYNC", options.async);
  if (options.unordered) environment["CUVMM_UNORDERED"] = "1";
  add_nvtx(environment, options, layout);
  set("CUVMM_TRACE", options.trace);
  set("CUVMM_TRACE_CALLS", with_commas(options.trace_calls));
  if (options.trace_errors) environment["CUVMM_TRACE_ERRORS"] = "1";
  set("CUVMM_RING", options.ring);
  set("CUVMM_FAIL", options.fail);
  set("CUVMM_FAIL_LOG", options.fail_log);
  if (options.guard) environment["CUVMM_GUARD"] = "1";
  if (options.quarantine > 0) environment["CUVMM_QUARANTINE"] = std::to_string(options.quarantine);
  if (options.poison) environment["CUVMM_POISON"] = "1";
  set("CUVMM_LIVE", options.live);
  set("CUVMM_LEAKS_SIGNAL", options.leaks_signal);
  if (options.no_python_frames) environment["CUVMM_NO_PYTHON_FRAMES"] = "1";
  if (options.stack_depth > 0)
    environment["CUVMM_STACK_DEPTH"] = std::to_string(options.stack_depth);
  if (options.no_symbols) environment["CUVMM_NO_SYMBOLS"] = "1";
  if (options.debuginfod) environment["CUVMM_DEBUGINFOD"] = "1";
  set("CUVMM_COLOR", options.color);
  if (options.limit >= 0) environment["CUVMM_LIMIT"] = std::to_string(options.limit);
  if (options.quiet) environment["CUVMM_QUIET"] = "1";
  if (options.verbose) environment["CUVMM_VERBOSE"] = "1";
  if (options.allow_multicast) environment["CUVMM_ALLOW_MULTICAST"] = "1";
  return environment;
}

}  // namespace cuvmm::tools
