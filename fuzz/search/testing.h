// SPDX-License-Identifier: Apache-2.0
// Finds the programs of the corpus, for tests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace cuvmm::fuzz {

/// The programs in a folder of fuzz/corpus/ and its subfolders, by name.
inline std::vector<std::filesystem::path> corpus(const std::string& folder,
                                                 const char* extension = ".cuvmm") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(CUVMM_CORPUS "/" + folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

/// A program without the bytes that it expects to read, because an op cannot hold them. `cuvmm
/// replay` checks these bytes; ctest runs it on each such program.
inline std::string read_calls(const std::filesystem::path& path) {
  std::istringstream lines(read(path));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("bytes(") == std::string::npos) text += line + "\n";
  }
  return text;
}

}  // namespace cuvmm::fuzz
