// SPDX-License-Identifier: Apache-2.0
#include "tools/run/preload/other_libc.h"

#include <filesystem>
#include <set>

namespace cuvmm::tools {

namespace fs = std::filesystem;

std::string other_libc_note(const std::string& report_folder) {
  constexpr std::size_t kMostNamed = 4;
  std::set<std::string> programs;
  std::error_code error;
  for (fs::directory_iterator at(report_folder, error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().string().ends_with(kOtherLibcSuffix)) continue;
    std::error_code unread;
    const std::string program = fs::read_symlink(at->path(), unread).string();
    if (!unread) programs.insert(program);
  }
  if (programs.empty()) return "";
  std::string text;
  std::size_t named = 0;
  for (const std::string& program : programs) {
    if (++named > kMostNamed) break;
    text += (text.empty() ? "" : ", ") + program;
  }
  if (programs.size() > kMostNamed)
    text += " and " + std::to_string(programs.size() - kMostNamed) + " more";
  return "not checked, because cuvmm's shim and CUDA drivers need glibc, and these programs use "
         "another C library: " +
         text;
}

}  // namespace cuvmm::tools
