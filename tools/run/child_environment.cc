// SPDX-License-Identifier: Apache-2.0
#include "tools/run/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <type_traits>

#include "tools/run/elf_file.h"

namespace cuvmm::tools {

namespace {

#if defined(__aarch64__)
constexpr const char* kMultiarch = "aarch64-linux-gnu";
#else
constexpr const char* kMultiarch = "x86_64-linux-gnu";
#endif

// A sanitizer's runtime refuses to start unless it is the first library of LD_PRELOAD.
bool sanitizer_runtime(const std::string& library) {
  const std::string name = std::filesystem::path(library).filename();
  for (const char* prefix :
       {"libasan", "libtsan", "liblsan", "libubsan", "libhwasan", "libclang_rt."}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

// Whether `word` names a library of cuvmm, by the path that this `cuvmm run` or an outer one wrote
// into LD_PRELOAD.
bool is_own_library(const std::string& word, const Layout& layout) {
  const auto is = [&](const std::string& library) {
    if (library.empty()) return false;
    return word == library ||
           word.ends_with("/$LIB/" + std::filesystem::path(library).filename().string());
  };
  return is(layout.shim) || is(layout.other_libc) || std::ranges::any_of(layout.runtimes, is);
}

// The path at which the loader finds a word of LD_PRELOAD; "" if no searched folder has it.
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

// The value of LD_PRELOAD: the shim, the libraries of `wanted` behind it, then the words of
// `existing`, without the libraries that an outer cuvmm put there. A library that stands between
// the program and the driver stays before the shim: the program calls that library as it does
// without cuvmm, and the library finds the shim where it looks for the driver.
std::string preload(const std::string& existing, const Layout& layout,
                    const std::vector<std::string>& wanted, const std::string& search) {
  std::string first, rest, word;
  std::string separated = existing;
  for (char& c : separated) {
    if (c == ':') c = ' ';
  }
  std::istringstream words(separated);
  while (words >> word) {
    if (is_own_library(word, layout)) continue;
    const bool before =
        sanitizer_runtime(word) || between_program_and_driver(found_library(word, search));
    (before ? first : rest) += ":" + word;
  }
  std::string own = preload_word(layout, layout.shim);
  for (const std::string& library : wanted) own += ":" + preload_word(layout, library);
  // other_libc is named by its absolute path, because the loader of any C library understands that.
  // Without layout.preload, such a loader refuses to start the program behind the shim, so the
  // library could report nothing.
  if (!layout.preload.empty() && !layout.other_libc.empty()) own += ":" + layout.other_libc;
  return (first.empty() ? "" : first.substr(1) + ":") + own + rest;
}

std::string search_path(const std::string& existing, const std::string& folder) {
  // An empty element means the current folder. Those that the user wrote stay; none is added.
  if (existing.empty() || existing == folder) return folder;
  if (existing.rfind(folder + ":", 0) == 0) return existing;
  return folder + ":" + existing;
}

// The user's settings come last, because the runtime uses the last value of a setting.
std::string sanitizer_options(const std::string& existing) {
  const std::string own = "verify_asan_link_order=0:protect_shadow_gap=0";
  return existing.empty() ? own : own + ":" + existing;
}

std::string with_commas(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// The text of a member of RunSettings in its variable; "" if the option was not given.
template <auto member>
std::string text_of(const RunSettings& options) {
  const auto& value = options.*member;
  using Value = std::decay_t<decltype(value)>;
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "1" : "";
  } else if constexpr (std::is_same_v<Value, int>) {
    return value > 0 ? std::to_string(value) : "";
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return value;
  } else {
    return with_commas(value);
  }
}

std::string text_of_limit(const RunSettings& options) {
  return options.limit >= 0 ? std::to_string(options.limit) : "";  // 0: print all
}

// The options of `cuvmm run`, each with the variable that the shim or the emulator reads
// (docs/environment.md). `text` is null if the option reaches the program in another way, while the
// variable still sets the same thing.
struct RunVariable {
  std::string_view option;
  const char* variable;
  std::string (*text)(const RunSettings&);
};
constexpr RunVariable kRunVariables[] = {
    {"allow-multicast", "CUVMM_ALLOW_MULTICAST", text_of<&RunSettings::allow_multicast>},
    {"async", "CUVMM_ASYNC", text_of<&RunSettings::async>},
    {"blame", "CUVMM_BLAME", nullptr},  // only the command uses it
    {"color", "CUVMM_COLOR", text_of<&RunSettings::color>},
    {"debuginfod", "CUVMM_DEBUGINFOD", text_of<&RunSettings::debuginfod>},
    {"devices", "CUVMM_DEVICES", text_of<&RunSettings::devices>},
    {"driver", "CUVMM_DRIVER", nullptr},   // with --emulate, the emulator's libcuda
    {"emulate", "CUVMM_DRIVER", nullptr},  // chooses a libcuda, as --driver does
    {"enforce", "CUVMM_ENFORCE", text_of<&RunSettings::enforce>},
    {"fail", "CUVMM_FAIL", text_of<&RunSettings::fail>},
    {"guard", "CUVMM_GUARD", text_of<&RunSettings::guard>},
    {"hostile", "CUVMM_HOSTILE", text_of<&RunSettings::hostile>},
    {"kernels", "CUVMM_KERNELS", text_of<&RunSettings::kernels>},
    {"leak-check", "CUVMM_LEAK_CHECK", text_of<&RunSettings::leak_check>},
    {"leaks-signal", "CUVMM_LEAKS_SIGNAL", text_of<&RunSettings::leaks_signal>},
    {"limit", "CUVMM_LIMIT", text_of_limit},
    {"live", "CUVMM_LIVE", text_of<&RunSettings::live>},
    {"no-python-frames", "CUVMM_NO_PYTHON_FRAMES", text_of<&RunSettings::no_python_frames>},
    {"no-symbols", "CUVMM_NO_SYMBOLS", text_of<&RunSettings::no_symbols>},
    {"nvtx-include", "CUVMM_NVTX_INCLUDE", nullptr},  // not with --no-nvtx: add_nvtx()
    {"poison", "CUVMM_POISON", text_of<&RunSettings::poison>},
    {"quarantine", "CUVMM_QUARANTINE", text_of<&RunSettings::quarantine>},
    {"quiet", "CUVMM_QUIET", text_of<&RunSettings::quiet>},
    {"ring", "CUVMM_RING", text_of<&RunSettings::ring>},
    {"stack-depth", "CUVMM_STACK_DEPTH", text_of<&RunSettings::stack_depth>},
    {"streams", "CUVMM_STREAMS", text_of<&RunSettings::streams>},
    {"suppressions", "CUVMM_SUPPRESSIONS", text_of<&RunSettings::suppressions>},
    {"torch", "CUVMM_TORCH", text_of<&RunSettings::torch>},
    {"trace", "CUVMM_TRACE", text_of<&RunSettings::trace>},
    {"trace-calls", "CUVMM_TRACE_CALLS", text_of<&RunSettings::trace_calls>},
    {"trace-errors", "CUVMM_TRACE_ERRORS", text_of<&RunSettings::trace_errors>},
    {"unordered", "CUVMM_UNORDERED", text_of<&RunSettings::unordered>},
    {"verbose", "CUVMM_VERBOSE", text_of<&RunSettings::verbose>},
};

// Each copy of NVTX in the program loads the library that NVTX_INJECTION64_PATH names. If that
// variable already names another tool, CUVMM_NVTX_NEXT passes its name to the shim, which loads it.
void add_nvtx(Environment& environment, const RunSettings& options, const Layout& layout) {
  constexpr const char* kTool = "NVTX_INJECTION64_PATH";
  constexpr const char* kNext = "CUVMM_NVTX_NEXT";
  const auto tool = environment.find(kTool);
  if (options.no_nvtx) {
    if (tool == environment.end() || tool->second != layout.shim) return;
    // An outer cuvmm set the variable, so the value that it replaced is restored.
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

std::string variable_of_run(std::string_view option) {
  const auto* const found = std::ranges::find(kRunVariables, option, &RunVariable::option);
  return found == std::end(kRunVariables) ? "" : found->variable;
}

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
  // The emulator has its own libcudart, because NVIDIA's needs a real driver. That library is
  // preloaded, because the loader searches the DT_RPATH of a program (every wheel of PyTorch has
  // one) before LD_LIBRARY_PATH.
  environment["LD_PRELOAD"] =
      preload(environment["LD_PRELOAD"], layout,
              options.emulate ? layout.runtimes : std::vector<std::string>{},
              environment["LD_LIBRARY_PATH"]);
  std::string folders = layout.links;
  if (options.emulate) {
    const std::filesystem::path emulator = std::filesystem::path(layout.emulator).parent_path();
    folders += ":" + emulator.string();
    const auto in_environment = environment.find("CUVMM_TORCH");
    const std::string torch = !options.torch.empty()                ? options.torch
                              : in_environment != environment.end() ? in_environment->second
                                                                    : "";
    std::string start;
    if (torch != "skip") start = emulator / "torch";
    if (options.python) start += (start.empty() ? "" : ":") + (emulator / "python").string();
    if (!start.empty()) environment["PYTHONPATH"] = search_path(environment["PYTHONPATH"], start);
  }
  environment["LD_LIBRARY_PATH"] = search_path(environment["LD_LIBRARY_PATH"], folders);
  // The program, or one that it starts, may be built with AddressSanitizer, which refuses to run
  // behind a preloaded library and whose shadow gap lies where the driver maps memory.
  environment["ASAN_OPTIONS"] = sanitizer_options(environment["ASAN_OPTIONS"]);

  // The processes write their reports into `report_folder`; `cuvmm run` writes the files that the
  // user named and decides on the exit code.
  environment.erase("CUVMM_REPORT");
  environment.erase("CUVMM_ERROR_EXITCODE");
  environment["CUVMM_REPORT_DIR"] = report_folder;
  environment.erase("CUVMM_TIMELINE");
  if (options.timeline) environment["CUVMM_TIMELINE"] = report_folder;
  environment["CUVMM_NO_SUMMARY"] = "1";  // `cuvmm run` prints one for all processes

  if (options.emulate) {
    environment["CUVMM_DRIVER"] = layout.emulator;
  } else {
    set("CUVMM_DRIVER", options.driver);
  }
  set("CUVMM_PROFILE", options.profile);
  set("CUVMM_FAIL_LOG", options.fail_log);
  add_nvtx(environment, options, layout);
  for (const RunVariable& one : kRunVariables) {
    if (one.text) set(one.variable, one.text(options));
  }
  return environment;
}

}  // namespace cuvmm::tools
