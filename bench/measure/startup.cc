// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/startup.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace cuvmm::bench {

namespace {

// Runs this program with the arguments. Returns its time from start to end in microseconds;
// negative if it failed.
double run_self(std::vector<std::string> arguments, const std::vector<std::string>& environment) {
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return -1;
  self[length] = '\0';
  std::vector<char*> argv{self};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<std::string> rest = environment;
  for (char** variable = environ; *variable; ++variable) {
    if (std::strncmp(*variable, "CUVMM_DRIVER=", 13) != 0) rest.emplace_back(*variable);
  }
  std::vector<char*> envp;
  for (std::string& variable : rest) envp.push_back(variable.data());
  envp.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  if (::posix_spawn(&child, self, nullptr, nullptr, argv.data(), envp.data()) != 0) return -1;
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) return -1;
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

struct Way {
  const char* variant;
  std::vector<std::string> arguments, environment;
  std::vector<double> times{};
};

void compare(const std::string& name, std::vector<Way> ways, int times, Results& results) {
  for (int time = 0; time <= times; ++time) {
    for (Way& way : ways) {
      const double took = run_self(way.arguments, way.environment);
      if (took < 0) return;
      if (time != 0) way.times.push_back(took);  // the first run fills the page cache
    }
  }
  for (Way& way : ways) {
    std::ranges::sort(way.times);
    const std::size_t last = way.times.size() - 1;
    results.add({"startup/" + name + "/" + way.variant, "us", way.times[last / 2],
                 way.times[last * 99 / 100], way.times.size()});
  }
}

}  // namespace

void measure_startup(const std::string& driver, const std::string& shim, int times,
                     Results& results) {
  std::vector<Way> idle{{"bare", {"--exit-at-once"}, {}}};
  std::vector<Way> init{{"bare", {"--init", driver}, {}}};
  if (!shim.empty()) {
    const std::vector<std::string> with{"LD_PRELOAD=" + shim, "CUVMM_DRIVER=" + driver};
    idle.push_back({"shim", {"--exit-at-once"}, with});
    // Loaded by name, as programs do, so that the program gets the preloaded shim.
    init.push_back({"shim", {"--init", "libcuda.so.1"}, with});
  }
  compare("exit-at-once", std::move(idle), times, results);
  // Fewer runs, because a real driver needs a good part of a second for each.
  compare("cuInit", std::move(init), std::max(times / 5, 2), results);
}

}  // namespace cuvmm::bench
