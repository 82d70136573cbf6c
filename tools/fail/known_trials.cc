// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/known_trials.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "api/posix/raw_write.h"
#include "tools/command_line/usage.h"

namespace cuvmm::tools {

namespace {

std::optional<Verdict> verdict_of(const std::string& name) {
  for (const Verdict verdict :
       {Verdict::kClean, Verdict::kHandled, Verdict::kWrongExit, Verdict::kLeak, Verdict::kFinding,
        Verdict::kHang, Verdict::kCrash}) {
    if (name == verdict_name(verdict)) return verdict;
  }
  return std::nullopt;
}

}  // namespace

KnownTrials::KnownTrials(std::string path, const std::vector<std::string>& command)
    : path_(std::move(path)) {
  if (path_.empty()) return;
  std::ifstream file(path_);
  std::string line;
  if (!file || !std::getline(file, line)) {
    append({{"cuvmm_fail", 1}, {"program", command}});
    return;
  }
  const Json head = Json::parse(line, nullptr, false);
  if (!head.is_object() || !head.contains("cuvmm_fail") || !head.contains("program")) {
    throw UsageError{"--resume " + path_ + ", line 1: expected a file that --resume has written"};
  }
  if (head["program"] != Json(command)) {
    throw UsageError{"--resume " + path_ +
                     " is of another program or other arguments: " + head["program"].dump()};
  }
  while (std::getline(file, line)) {
    const Json one = Json::parse(line, nullptr, false);
    if (!one.is_object()) continue;  // an interrupted campaign may leave half a line
    const auto verdict = verdict_of(one.value("verdict", ""));
    if (!verdict) continue;
    Trial trial;
    trial.experiment.spec = one.value("spec", "");
    trial.judgement = {*verdict, one.value("what", "")};
    trial.reached = one.value("reached", true);
    trial.seconds = one.value("seconds", 0.0);
    known_[trial.experiment.spec] = trial;
  }
}

const Trial* KnownTrials::find(const std::string& spec) const {
  const auto found = known_.find(spec);
  return found == known_.end() ? nullptr : &found->second;
}

void KnownTrials::add(const Trial& trial) {
  if (path_.empty()) return;
  append({{"spec", trial.experiment.spec},
          {"verdict", verdict_name(trial.judgement.verdict)},
          {"what", trial.judgement.what},
          {"reached", trial.reached},
          {"seconds", trial.seconds}});
}

void KnownTrials::append(const Json& line) {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const int error = fd < 0 ? errno : raw_write(fd, text);
  if (fd >= 0) ::close(fd);
  if (error != 0) problem_ = "--resume " + path_ + ": " + std::strerror(error);
}

}  // namespace cuvmm::tools
