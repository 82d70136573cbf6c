// SPDX-License-Identifier: Apache-2.0
#include "tools/work/corpus.h"

#include <filesystem>
#include <iterator>

#include "tools/base/atomic_file.h"
#include "tools/base/temporary_folder.h"
#include "tools/work/child.h"
#include "tools/work/result_file.h"

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

std::string write_all(const std::set<std::string>& programs, const std::string& folder) {
  for (const std::string& text : programs) {
    const std::string problem = write_whole(folder + "/" + content_hash(text) + ".cuvmm", text);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace

CorpusEnd write_corpus(const std::set<std::string>& programs, const WorkTarget& target,
                       const std::string& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) return {0, "", folder + ": " + problem.message()};
  if (!fs::is_empty(folder, problem)) return {0, "", folder + ": expected an empty folder"};
  const std::string program = target.programs + "/cuvmm-fuzz";
  const std::string missing =
      target.emulator.empty() ? "there is no emulator here" : missing_program(program);
  if (!missing.empty()) return {programs.size(), missing, write_all(programs, folder)};
  const TemporaryFolder all;
  if (all.path().empty()) return {0, "", all.problem()};
  if (std::string error = write_all(programs, all.path()); !error.empty()) return {0, "", error};
  const ChildEnd end = run_child({program, "--driver", target.emulator, "--multicast", "yes",
                                  "--processes", "2", "--from", all.path(), "--corpus", folder},
                                 {});
  if (end.code != 0) return {0, "", "cuvmm-fuzz: " + end.output};
  const auto count = std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  return {static_cast<std::size_t>(count), "", ""};
}

}  // namespace cuvmm::tools
