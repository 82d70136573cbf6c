// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/say.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

/// Runs `body` with descriptor 2 on another file.
template <class Body>
void with_stderr(int fd, Body&& body) {
  const int before = dup(STDERR_FILENO);
  dup2(fd, STDERR_FILENO);
  body();
  dup2(before, STDERR_FILENO);
  close(before);
}

TEST(Say, OneLineWithItsSender) {
  remember_stderr();
  EXPECT_EQ(stderr_of([] { complain("a bad thing"); }), "cuvmm emulator: a bad thing\n");
  EXPECT_EQ(stderr_of([] { note("a good thing"); }), "cuvmm emulator: a good thing\n");
}

TEST(Say, NotesAreForThoseWhoWantThem) {
  for (const char* quiet : {"1", "yes", "on"}) {
    setenv("CUVMM_QUIET", quiet, 1);
    EXPECT_EQ(stderr_of([] { note("worth knowing"); }), "") << quiet;
    EXPECT_NE(stderr_of([] { complain("an error"); }), "") << quiet;
  }
  setenv("CUVMM_QUIET", "0", 1);
  EXPECT_NE(stderr_of([] { note("worth knowing"); }), "");
  unsetenv("CUVMM_QUIET");
}

TEST(Say, NothingInAFileThatTookTheNumber) {
  remember_stderr();
  const int file = memfd_create("say_test", MFD_CLOEXEC);
  with_stderr(file, [] { complain("in the middle of a data base"); });
  struct stat status {};
  ASSERT_EQ(fstat(file, &status), 0);
  EXPECT_EQ(status.st_size, 0);
  close(file);
}

TEST(Say, APipeThatNobodyReadsEndsNobody) {
  remember_stderr();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  ASSERT_EQ(signal(SIGPIPE, SIG_DFL), SIG_DFL);
  errno = ENOENT;
  with_stderr(ends[1], [] { complain("nobody hears it"); });
  EXPECT_EQ(errno, ENOENT);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  close(ends[1]);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
