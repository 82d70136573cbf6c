// SPDX-License-Identifier: Apache-2.0
// A program with a runtime inside: calls it in main, in a child of fork, in a new program, in a
// thread, and in a library that it loads twice.
// usage: program [LIBRARY]
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

static int wait_for(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                               : 100;
}

static void* call_in_thread(void* unused) {
  (void)unused;
  return make_calls() == 0 ? NULL : (void*)1;
}

static int call_in_library(const char* path) {
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror());
    int (*calls)(void) = (int (*)(void))dlsym(library, "plugin_calls");
    if (!calls || calls() != 0) return 1;
    dlclose(library);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "again") == 0) return make_calls() != 0;
  const pid_t child = fork();  // before the first call, because a driver does not survive a fork
  if (child == 0) _exit(make_calls() != 0);
  if (wait_for(child) != 0) return 2;
  const pid_t other = fork();
  if (other == 0) {
    execl("/proc/self/exe", argv[0], "again", (char*)NULL);
    _exit(9);
  }
  if (wait_for(other) != 0) return 3;
  if (make_calls() != 0) return 4;
  pthread_t thread;
  void* failed = NULL;
  if (pthread_create(&thread, NULL, call_in_thread, NULL) != 0) return 5;
  pthread_join(thread, &failed);
  if (failed) return 6;
  if (argc == 2 && call_in_library(argv[1]) != 0) return 7;
  puts("all calls were answered");
  return 0;
}
