// SPDX-License-Identifier: Apache-2.0
// Asks the compiler whose path is the argument for machine code, and prints the answer.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  void* const library = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
  if (!library) return 1;
  int (*size_of)(const void*, size_t*) =
      (int (*)(const void*, size_t*))dlsym(library, "nvrtcGetCUBINSize");
  int (*get)(const void*, char*) = (int (*)(const void*, char*))dlsym(library, "nvrtcGetCUBIN");
  char text[64];
  size_t size = 0;
  if (!size_of || !get || size_of(words, &size) != 0 || size > sizeof text || get(words, text) != 0)
    return 1;
  puts(text);
  return 0;
}
