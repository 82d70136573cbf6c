// SPDX-License-Identifier: Apache-2.0
#include "tools/work/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>

#include <cerrno>
#include <cstring>

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMost = 1 << 20;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& each : texts) list.push_back(const_cast<char*>(each.c_str()));
  list.push_back(nullptr);
  return list;
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > 2 * kMost) text.erase(0, text.size() - kMost);
  }
}

}  // namespace

std::string missing_program(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return "";
  return "this needs " + std::filesystem::path(path).filename().string() +
         ", which a build has beside cuvmm: there is no " + path;
}

ChildEnd run_child(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& settings) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {127, std::strerror(errno)};
  std::vector<std::string> environment = settings;
  for (char** each = environ; *each; ++each) environment.emplace_back(*each);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t pid = -1;
  const int problem = ::posix_spawn(&pid, arguments[0].c_str(), &actions, nullptr,
                                    pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (problem != 0) {
    ::close(ends[0]);
    return {127, arguments[0] + ": " + std::strerror(problem)};
  }
  ChildEnd end;
  end.output = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kSignalled = 128;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return end;
}

}  // namespace cuvmm::tools
