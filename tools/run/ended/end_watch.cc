// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/end_watch.h"

#include <dirent.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "api/posix/process_start.h"
#include "recorder/holdings/format.h"
#include "recorder/recorded_file.h"
#include "tools/run/ended/thread_state.h"

namespace cuvmm::tools {

namespace {

// The first thread may end long before the others.
bool other_thread_lives(const std::string& process) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(process + "/task", error), end; !error && at != end;
       at.increment(error)) {
    if (!thread_state(at->path().string()).dead()) return true;
  }
  return false;
}

}  // namespace

EndWatch::EndWatch(std::string live_folder)
    : folder_(std::move(live_folder)),
      run_pid_(static_cast<std::uint64_t>(::getpid())),
      run_start_(process_start("self")) {}

// Whether the file is of a process of this run; nothing while the process is still making the file.
std::optional<bool> EndWatch::is_of_this_run(const std::string& file, Watched& one) const {
  using Kind = recorder::Refusal::Kind;
  recorder::RecordedFile opened;
  const recorder::Refusal refusal =
      opened.open(file, holdings::kShape, recorder::RecordedFile::Named::kByOneUser);
  if (refusal.kind == Kind::kUnfinished) return std::nullopt;
  recorder::FileHeader header{};
  if (refusal.kind != Kind::kNone || !opened.read(&header, sizeof header, 0)) return false;
  one.pid = header.pid;
  one.start = header.start;
  return header.pid_namespace == pid_namespace() && header.run_pid == run_pid_ &&
         header.run_start == run_start_;
}

void EndWatch::find_new() {
  constexpr std::string_view kSuffix = ".live";
  DIR* const names = folder_.empty() ? nullptr : ::opendir(folder_.c_str());
  if (!names) return;
  while (const dirent* const entry = ::readdir(names)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(kSuffix) || others_.contains(name)) continue;
    const std::string image = name.substr(0, name.size() - kSuffix.size());
    if (images_.contains(image)) continue;
    Watched one;
    const std::optional<bool> of_this_run = is_of_this_run(folder_ + "/" + name, one);
    if (of_this_run == true) images_.emplace(image, std::move(one));
    if (of_this_run == false) others_.insert(name);
  }
  ::closedir(names);
}

void EndWatch::look_at(Watched& one) {
  const std::uint64_t now = monotonic_ns();
  const std::string process = "/proc/" + std::to_string(one.pid);
  const ThreadState first = thread_state(process);
  const bool same = first.state != '\0' && first.start == one.start;
  const bool lives = same && (!first.dead() || other_thread_lives(process));
  if (one.start_stack == 0) one.start_stack = first.start_stack;
  one.end.became_another = lives && first.runs_another_program(one.start_stack);
  if (lives && !one.end.became_another) {
    one.end.ns = now;
    if (first.state == 'T' || first.state == 't') one.end.stopped_ns = now;
    one.looks.look(process, now, first.state == 'S');
    return;
  }
  one.over = true;
  one.end.latest_ns = now;
  if (same && first.dead() && one.end.ns != 0) {
    one.looks.look(process, one.end.ns);
  } else {
    one.looks.forget_unsure();
  }
  one.end.looks = one.looks.take();
}

void EndWatch::look() {
  find_new();
  for (auto& [image, one] : images_) {
    if (!one.over) look_at(one);
  }
}

std::optional<ProcessEnd> EndWatch::end_of(const std::string& image) const {
  const auto found = images_.find(image);
  if (found == images_.end() || !found->second.over) return std::nullopt;
  return found->second.end;
}

}  // namespace cuvmm::tools
