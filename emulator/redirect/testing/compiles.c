// SPDX-License-Identifier: Apache-2.0
// Asks the compiler that it is linked with for machine code, and prints the answer. With an
// argument, it finds the compiler's functions by dlsym().
#include <dlfcn.h>
#include <stdio.h>

int nvrtcGetCUBIN(const void* program, char* out);
int nvrtcGetCUBINSize(const void* program, size_t* out);

int main(int count, char** words) {
  int (*size_of)(const void*, size_t*) = nvrtcGetCUBINSize;
  int (*get)(const void*, char*) = nvrtcGetCUBIN;
  if (count == 2) {
    void* const library = dlopen(words[1], RTLD_NOW);
    if (!library) return 1;
    size_of = (int (*)(const void*, size_t*))dlsym(library, "nvrtcGetCUBINSize");
    get = (int (*)(const void*, char*))dlsym(library, "nvrtcGetCUBIN");
  }
  char text[64];
  size_t size = 0;
  if (size_of(words, &size) != 0 || size > sizeof text || get(words, text) != 0) return 1;
  puts(text);
  return 0;
}
