// SPDX-License-Identifier: Apache-2.0
// Descriptor 2 after the program closed it: the user's file that got the number keeps its bytes,
// whatever the emulator would print. Where stderr is a pipe that nobody reads, no signal ends the
// program.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "emulator/testing_life/life.h"

namespace {

void make_it_talk() {
  use_device();
  if (cuGraphicsUnregisterResource(nullptr) != CUDA_ERROR_NOT_SUPPORTED) _exit(1);
  if (cuGraphicsMapResources(0, nullptr, nullptr) != CUDA_ERROR_NOT_SUPPORTED) _exit(1);
}

void with_users_file() {
  close(2);
  const int file = memfd_create("user", MFD_CLOEXEC);
  if (file != 2 || write(file, "bytes", 5) != 5) _exit(2);
  make_it_talk();
  struct stat status {};
  if (fstat(file, &status) != 0 || status.st_size != 5) _exit(3);
}

void with_closed_pipe() {
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], 2) != 2) _exit(2);
  close(ends[0]);
  signal(SIGPIPE, SIG_DFL);
  make_it_talk();
}

void with_nothing() {
  close(2);
  make_it_talk();
}

}  // namespace

int main() {
  EXPECT(ending_of(with_users_file) == 0);
  EXPECT(ending_of(with_closed_pipe) == 0);
  EXPECT(ending_of(with_nothing) == 0);
  return 0;
}
