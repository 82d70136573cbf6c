// SPDX-License-Identifier: Apache-2.0
// Descriptors that are closed and used again, limits that are reached, rights and root folders that
// are given up. The program's own files lie in the current folder.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "life.h"

namespace {

void open_own_files(int (&files)[8]) {
  for (int i = 0; i < 8; ++i) {
    const char name[] = {static_cast<char>('0' + i), '.', 'd', 'b', 0};
    files[i] = ::open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    ::dprintf(files[i], "header\n");
  }
}

int close_all(const char*) {
  life::init();
  life::cycle();
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  int files[8];
  open_own_files(files);
  // Covers all high numbers, because cuvmm's descriptors have high numbers.
  for (int fd = 900; fd < 1024; ++fd) ::dup2(files[7], fd);
  life::cycle();
  life::misuse();
  life::leak();
  for (const int file : files) ::dprintf(file, "end\n");
  return 0;
}

int stderr_is_a_file(const char* when) {
  const bool early = std::strcmp(when, "before") == 0;
  if (!early) life::init();
  ::close(2);
  const int file = ::open("0.db", O_RDWR | O_CREAT | O_TRUNC, 0644);
  ::dprintf(file, "header\n");
  if (early) life::init();
  life::misuse();
  life::leak();
  return 0;
}

int daemon(const char*) {
  life::init();
  if (::fork() != 0) ::_exit(0);
  ::setsid();
  for (int fd = 0; fd < 1024; ++fd) ::close(fd);
  ::open("/dev/null", O_RDWR);
  ::dup(0);
  const int file = ::open("0.db", O_RDWR | O_CREAT | O_TRUNC, 0644);
  ::dprintf(file, "header\n");
  cuInit(0);
  life::misuse();
  life::leak();
  ::dprintf(file, "end\n");
  return 0;
}

int no_descriptors(const char*) {
  life::init();
  const rlimit few{16, 16};
  ::setrlimit(RLIMIT_NOFILE, &few);
  while (::open("/dev/null", O_RDONLY) >= 0) {
  }
  life::misuse();
  life::leak();
  return 0;
}

int small_files(const char*) {
  life::init();
  const rlimit small{100, 100};
  ::setrlimit(RLIMIT_FSIZE, &small);
  life::misuse();
  life::leak();
  return 0;
}

int no_memory(const char*) {
  life::init();
  life::cycle();
  const rlimit none{1 << 20, 1 << 20};
  ::setrlimit(RLIMIT_AS, &none);
  for (std::size_t size = 1 << 20; size >= 16; size /= 2) {
    while (std::malloc(size)) {
    }
  }
  life::misuse();
  ::write(1, "alive\n", 6);
  ::_exit(0);
}

int other_root(const char*) {
  life::init();
  ::mkdir("root", 0755);
  if (::chroot("root") != 0 || ::chdir("/") != 0) return 98;
  life::misuse();
  life::leak();
  return 0;
}

int fewer_rights(const char*) {
  life::init();
  if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 98;
  life::misuse();
  life::leak();
  return 0;
}

constexpr life::Scenario kScenarios[] = {
    {"close-all", close_all},     {"stderr-is-a-file", stderr_is_a_file},
    {"daemon", daemon},           {"no-descriptors", no_descriptors},
    {"small-files", small_files}, {"no-memory", no_memory},
    {"other-root", other_root},   {"fewer-rights", fewer_rights},
};

}  // namespace

int main(int count, char** arguments) { return life::run(kScenarios, count, arguments); }
