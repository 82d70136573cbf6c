// SPDX-License-Identifier: Apache-2.0
#include "shim/recorder/last_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "api/posix/image_name.h"
#include "recorder/last_calls/image_file.h"
#include "shim/base/call_hooks.h"
#include "shim/recorder/ring_call.h"

namespace cuvmm::shim {

namespace {

// The file of this very process, from before it became the program that it is now by exec.
bool is_of_earlier_program(const std::string& path, const last_calls::Header& mine) {
  last_calls::Header header{};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const bool whole = ::pread(fd, &header, sizeof header, 0) == sizeof header;
  ::close(fd);
  return whole && std::memcmp(header.magic, last_calls::kMagic, sizeof header.magic) == 0 &&
         header.pid == static_cast<std::uint64_t>(::getpid()) && header.start == mine.start &&
         header.start != 0 && header.fault_result == 0;
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
  if (options.ring.empty()) return g_hooks.ring_wanted.store(false);
  const int saved = errno;
  try {
    path_ = options.ring + "/" + image_name() + ".ring";
    image_ = last_calls::map_new_file(path_);
    if (!image_) error_ = errno;
  } catch (const std::bad_alloc&) {
    error_ = ENOMEM;
  }
  if (image_) {
    last_calls::describe_process(image_->header, driver);
    last_calls::fill_rows(image_->entries);
    g_ring.start(image_);
    g_ring.keep_maps();
    try {
      if (!options.keep_ring && !options.judged)
        remove_earlier(options.ring, path_, image_->header);
    } catch (const std::bad_alloc&) {
    }
  } else {
    g_hooks.ring_wanted.store(false);
    path_.clear();
  }
  errno = saved;
}

void LastCalls::finish(bool keep) noexcept {
  g_ring.note_exit();
  // A signal handler that ends the process may have interrupted open(): a path, and no image yet.
  if (path_.empty() || keep || (image_ && last_calls::load(image_->header.fault_result) != 0))
    return;
  const int saved = errno;
  ::unlink(path_.c_str());
  errno = saved;
}

void LastCalls::restart_in_child() noexcept {
  g_ring.stop();
  t_state.ring = {};
  last_calls::unmap(image_);
  image_ = nullptr;
  path_.clear();
  error_ = 0;
  unopened_.store(true);
  g_hooks.ring_wanted.store(true);
}

}  // namespace cuvmm::shim
