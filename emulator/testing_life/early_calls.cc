// SPDX-License-Identifier: Apache-2.0
// Calls of the driver before any other code of the program: from its pre-initialisers, its first
// constructor and IFUNC resolvers; and again in main.
#include "emulator/testing_life/life.h"

namespace {

bool before_constructors = false;

void first_of_all(int, char**, char**) {
  use_device();
  cycle(true);
  before_constructors = true;
}

__attribute__((section(".preinit_array"), used)) void (*pre_initialiser)(int, char**,
                                                                         char**) = first_of_all;

struct First {
  First() { cycle(true); }
};
First first __attribute__((init_priority(101)));

}  // namespace

int main() {
  EXPECT(before_constructors);
  use_device();
  cycle(true);
  return 0;
}
