// SPDX-License-Identifier: Apache-2.0
#include "shim/recorder/last_calls.h"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string_view>

#include "recorder/last_calls/writer.h"
#include "recorder/recorded_file.h"
#include "recorder/shared_words.h"
#include "shim/base/call_hooks.h"
#include "shim/recorder/recorded_call.h"

namespace cuvmm::shim {

namespace {

// Whether the file belongs to this process, from before an exec turned it into the present program.
bool is_of_earlier_program(const std::string& path, const last_calls::Header& mine) {
  recorder::RecordedFile file;
  const auto named = recorder::RecordedFile::Named::kByFolder;
  if (file.open(path, last_calls::kShape, named).kind != recorder::Refusal::Kind::kNone)
    return false;
  last_calls::Header header{};
  return file.read(&header, sizeof header, 0) && header.file.pid == mine.file.pid &&
         header.file.start == mine.file.start && header.file.start != 0 && header.fault_result == 0;
}

void remove_earlier(const std::string& folder, const std::string& path,
                    const last_calls::Header& mine) {
  const std::string prefix = std::to_string(::getpid()) + "-";
  DIR* const names = ::opendir(folder.c_str());
  if (!names) return;
  while (const dirent* const entry = ::readdir(names)) {
    const std::string other = folder + "/" + entry->d_name;
    if (std::string_view(entry->d_name).starts_with(prefix) && other.ends_with(".ring") &&
        other != path && is_of_earlier_program(other, mine)) {
      ::unlink(other.c_str());
    }
  }
  ::closedir(names);
}

}  // namespace

void LastCalls::open(const Options& options, const std::string& driver) noexcept {
  if (!unopened_.exchange(false)) return;
  if (options.ring.empty()) return g_hooks.last_calls_wanted.store(false);
  const int saved = errno;
  try {
    path_ = recorder::file_in(options.ring, recorder::Section::kLastCalls);
    error_ = file_.create(path_, last_calls::kShape, last_calls::kShape.bytes);
  } catch (const std::bad_alloc&) {
    error_ = ENOMEM;
  }
  if (auto* const image = static_cast<last_calls::Image*>(file_.memory())) {
    file_.describe(driver);
    last_calls::fill_rows(image->entries);
    g_last_calls.start(image);
    g_last_calls.keep_maps();
    try {
      if (!options.keep_last_calls && !options.judged)
        remove_earlier(options.ring, path_, image->header);
    } catch (const std::bad_alloc&) {
    }
  } else {
    g_hooks.last_calls_wanted.store(false);
    path_.clear();
  }
  errno = saved;
}

void LastCalls::finish(bool keep) noexcept {
  g_last_calls.note_exit();
  // A signal handler that ends the process may have interrupted open(): then there is a path, and
  // no image yet.
  const auto* const image = static_cast<const last_calls::Image*>(file_.memory());
  if (path_.empty() || keep || (image && recorder::load(image->header.fault_result) != 0)) return;
  const int saved = errno;
  ::unlink(path_.c_str());
  errno = saved;
}

void LastCalls::restart_in_child() noexcept {
  g_last_calls.stop();
  t_state.call_place = {};
  file_.close();
  path_.clear();
  error_ = 0;
  unopened_.store(true);
  g_hooks.last_calls_wanted.store(true);
}

}  // namespace cuvmm::shim
