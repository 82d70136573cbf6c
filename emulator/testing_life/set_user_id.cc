// SPDX-License-Identifier: Apache-2.0
// A set-user-ID program: the emulator obeys no variable in the environment of the less privileged
// user who starts it. Making the file needs root; the program ends with 77 without it.
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <string>

#include "emulator/testing_life/life.h"

namespace {

constexpr int kSkipped = 77;
constexpr uid_t kNobody = 65534;

int privileged() {
  EXPECT(getauxval(AT_SECURE) != 0 && geteuid() == 0 && getuid() == kNobody);
  int devices = 0;
  use_device();
  OK(cuDeviceGetCount(&devices));
  EXPECT(devices == 8);  // CUVMM_DEVICES says 3, and CUVMM_PROFILE names a missing file
  return 0;
}

bool copy_program(const std::string& to) {
  const int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int out = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  char buffer[1 << 16];
  ssize_t got = 0;
  bool good = in >= 0 && out >= 0;
  while (good && (got = read(in, buffer, sizeof buffer)) > 0) {
    good = write(out, buffer, static_cast<size_t>(got)) == got;
  }
  // The file becomes set-user-ID only after it is complete.
  good = good && got == 0 && fchmod(out, 04755) == 0;
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  return good;
}

}  // namespace

int main(int count, char**) {
  if (count == 1) return privileged();
  if (geteuid() != 0) return kSkipped;
  char folder[] = "/tmp/cuvmm_set_user_id_XXXXXX";
  EXPECT(mkdtemp(folder) && chmod(folder, 0755) == 0);
  const std::string program = std::string(folder) + "/program";
  const bool copied = copy_program(program);
  // Whether the kernel honours the bit there: the file system may be mounted with nosuid, and a
  // container may lack the user.
  bool skipped = !copied;
  const int ending = skipped ? 0 : ending_of([&] {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(kSkipped);
    const char* const arguments[] = {program.c_str(), nullptr};
    const char* const environment[] = {"CUVMM_DEVICES=3", "CUVMM_PROFILE=/etc/hostname",
                                       "CUVMM_MUTATION=nonsense", "CUVMM_DEVICE_MEMORY=1", nullptr};
    execve(program.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
    _exit(kSkipped);
  });
  unlink(program.c_str());
  rmdir(folder);
  return skipped ? kSkipped : ending;
}
