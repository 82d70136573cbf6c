// SPDX-License-Identifier: Apache-2.0
// For programs: since glibc 2.34 the C library runs a program's constructors. Before, the program's
// own code ran them, which this compiler no longer adds.
#include <stddef.h>

typedef void Constructor(int, char**, char**);
extern Constructor* __preinit_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __preinit_array_end[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

static void construct(int count, char** arguments, char** environment) {
  for (Constructor** each = __preinit_array_start; each < __preinit_array_end; ++each) {
    (*each)(count, arguments, environment);
  }
  _init();
  for (Constructor** each = __init_array_start; each < __init_array_end; ++each) {
    (*each)(count, arguments, environment);
  }
}

typedef int Main(int, char**, char**);
extern int old_start(Main* program, int count, char** arguments, Constructor* initialise,
                     void (*finish)(void), void (*loader_finish)(void), void* stack);
__asm__(".symver old_start,__libc_start_main@GLIBC_2.2.5");

int __libc_start_main(Main* program, int count, char** arguments, Constructor* initialise,
                      void (*finish)(void), void (*loader_finish)(void), void* stack);
int __libc_start_main(Main* program, int count, char** arguments, Constructor* initialise,
                      void (*finish)(void), void (*loader_finish)(void), void* stack) {
  (void)initialise;
  return old_start(program, count, arguments, construct, finish, loader_finish, stack);
}
