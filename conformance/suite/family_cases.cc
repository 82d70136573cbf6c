// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/family_cases.h"

#include <algorithm>
#include <filesystem>

#include "api/posix/whole_file.h"

namespace cuvmm::conformance {

namespace {

// The documented answer to a call that breaks the rule.
CUresult documented_answer(Rule rule) {
  const RuleKind kind = info(rule).kind;
  return kind == RuleKind::kError || kind == RuleKind::kUndefined ? info(rule).code : CUDA_SUCCESS;
}

Case to_case(FamilyCase from) {
  Case out;
  out.name = std::move(from.name);
  for (Rule rule : from.rules) out.breaks.push_back(info(rule).id);
  if (from.devices > 1) out.needs.push_back({Need::What::kDevices, true, from.devices});
  if (from.cuda != 0) out.needs.push_back({Need::What::kCuda, true, from.cuda});
  if (from.optional) out.needs.push_back({Need::What::kSupport, false, 1});
  out.program = std::move(from.program);
  Statement& call = out.program.statements.back();
  call.breaks = out.breaks;
  if (from.rules.empty()) call.expected = CUDA_SUCCESS;
  if (from.rules.size() == 1) call.expected = documented_answer(from.rules[0]);
  add_implied_needs(out);
  return out;
}

std::vector<Case> convert(const std::vector<Family>& families,
                          std::vector<FamilyCase> (*expand)(const Family&)) {
  std::vector<Case> out;
  for (const Family& family : families) {
    for (FamilyCase& each : expand(family)) out.push_back(to_case(std::move(each)));
  }
  return out;
}

}  // namespace

std::vector<Case> single_cases(const std::vector<Family>& families) {
  return convert(families, singles);
}
std::vector<Case> pair_cases(const std::vector<Family>& families) {
  return convert(families, pairs);
}

LoadedFamilies load_families(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".family") files.push_back(entry.path());
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  LoadedFamilies loaded;
  for (const fs::path& file : files) {
    const WholeFile read = whole_file(file);
    if (!read.error.empty()) {
      loaded.errors.push_back(file.string() + ": " + read.error);
      continue;
    }
    ParsedFamilies parsed = parse_families(read.text);
    for (const ParseError& error : parsed.errors)
      loaded.errors.push_back(format_error(error, file.string()));
    std::move(parsed.families.begin(), parsed.families.end(), std::back_inserter(loaded.families));
  }
  return loaded;
}

}  // namespace cuvmm::conformance
