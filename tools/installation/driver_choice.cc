// SPDX-License-Identifier: Apache-2.0
#include "tools/installation/driver_choice.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace cuvmm::tools {

namespace {

// Runs `ask` in a child process and returns its text; "!" and a sentence if the child died.
std::string in_child(const std::function<std::string()>& ask) {
  int channel[2];
  if (pipe2(channel, O_CLOEXEC) != 0) return "!no pipe";
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string answer = ask();
    [[maybe_unused]] const ssize_t written = write(channel[1], answer.data(), answer.size());
    _exit(0);
  }
  close(channel[1]);
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t count = read(channel[0], buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(channel[0]);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
    return "!opening it ended the process";
  return text;
}

std::string open_driver(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) return std::string("!") + dlerror();
  if (!dlsym(library, "cuInit")) return "!it exports no cuInit, so it is not a libcuda";
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return name;
  return map->l_name;
}

}  // namespace

std::string find_driver(const std::string& name) {
  const std::string found = in_child([&] { return open_driver(name); });
  return found.empty() || found[0] == '!' ? "" : found;
}

std::string cannot_use_driver(const std::string& path) {
  const std::string found = in_child([&] { return open_driver(path); });
  return !found.empty() && found[0] == '!' ? found.substr(1) : "";
}

}  // namespace cuvmm::tools
