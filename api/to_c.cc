#include "api/to_c.h"

#include <set>

#include "api/c_statement.h"

namespace cuvmm {

namespace {

// What the statements call. Only what <cuda.h> and POSIX have.
constexpr const char kPrelude[] = R"(#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long u64;
static int failures = 0;

/* Prints what a statement answered; counts it when it is not what was expected. */
static void report(int line, const char* call, CUresult result, const char* value, int expected,
                   const char* expected_value) {
  const char* name = NULL;
  int wrong = expected >= 0 && ((int)result != expected || (*expected_value && strcmp(value, expected_value)));
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "unknown code";
  printf("%d: %s -> %s%s%s%s\n", line, call, name, *value ? " =" : "", value, wrong ? "   NOT AS EXPECTED" : "");
  fflush(stdout);
  failures += wrong;
}
static void not_run(int line, const char* call, int expected) {
  printf("%d: %s -> not run\n", line, call);
  failures += expected >= 0;
}
static void* host(size_t size, int fill) { return memset(malloc(size ? size : 1), fill, size); }
static CUresult make_current(int device, u64* context) {
  CUdevice handle;
  CUcontext made = NULL;
  CUresult result = cuDeviceGet(&handle, device);
  if (result == CUDA_SUCCESS) result = cuDevicePrimaryCtxRetain(&made, handle);
  if (result == CUDA_SUCCESS) result = cuCtxSetCurrent(made);
  *context = (u64)(uintptr_t)made;
  return result;
}
static void hex(char* text, const void* bytes, size_t size) {
  size_t i;
  for (i = 0; i < size && i < 4096; ++i) sprintf(text + 2 * i, "%02x", ((const unsigned char*)bytes)[i]);
}
static int make_memfd(size_t size) {
  int fd = memfd_create("cuvmm-program", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, (off_t)size) != 0) return -1;
  return fd;
}
static const char* descriptor(int fd) {
  int flags = fcntl(fd, F_GETFD);
  return flags == -1 ? "0" : flags & FD_CLOEXEC ? "3" : "1";
}

int main(void) {
  static char value[8200];
  CUresult result = CUDA_SUCCESS;
  (void)&not_run, (void)&host, (void)&make_current, (void)&hex, (void)&make_memfd, (void)&descriptor;
)";

}  // namespace

CSource to_c(const Program& program, const std::string& origin) {
  CSource source;
  std::vector<ParseError> mistakes;
  check_program(program, mistakes);
  if (!mistakes.empty()) {
    source.error = format_error(mistakes.front(), origin);
    return source;
  }
  std::set<std::string> names;
  for (const Statement& statement : program.statements) {
    if (statement.process || statement.thread) {
      source.error = origin + ":" + std::to_string(statement.line) +
                     ":1: expected a program of one process and one thread, found '@'";
      return source;
    }
    if (!statement.result.empty()) names.insert(statement.result);
  }
  std::string& text = source.text;
  text = "/* " + origin + ", written as C by cuvmm. Build: cc FILE.c -I<cuda>/include -lcuda */\n";
  text += kPrelude;
  for (const std::string& name : names) {
    text += "  u64 v_" + name + " = 0;\n  int has_" + name + " = 0;\n";
  }
  for (const std::string& name : names) text += "  (void)v_" + name + ", (void)has_" + name + ";\n";
  int number = 0;
  for (const Statement& statement : program.statements) {
    ++number;
    text += c_statement(statement, statement.line ? statement.line : number);
  }
  text += "  return failures != 0;\n}\n";
  return source;
}

}  // namespace cuvmm
