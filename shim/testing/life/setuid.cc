// SPDX-License-Identifier: Apache-2.0
// A set-user-ID program that gets the shim by its runpath: prints the user whose rights it has.
#include <unistd.h>

#include "life.h"

int main() {
  cuInit(0);
  life::misuse();
  std::printf("euid %d\n", static_cast<int>(::geteuid()));
  return 0;
}
