// SPDX-License-Identifier: Apache-2.0
// Ways in which a program ends while cuvmm has findings to report.
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>

#include "life.h"

namespace {

void churn() {
  for (;;) {
    void* blocks[100];
    for (void*& block : blocks) block = std::malloc(5000);
    for (void* block : blocks) std::free(block);
  }
}

// A misuse at a place of its own, so that each call of another instance makes another finding.
template <int place>
[[gnu::noinline]] void misuse_at() {
  life::misuse();
  asm volatile("" ::"i"(place));  // keeps the instances apart, and prevents a tail call
}

template <int... place>
void misuse_at_each(std::integer_sequence<int, place...>) {
  (misuse_at<place>(), ...);
}

// _exit() is allowed in a handler: it may interrupt malloc, the shim's work, or the description of
// a finding.
int exit_in_handler(const char* what) {
  life::init();
  if (std::strcmp(what, "leak") == 0) {
    life::leak();
    // The memory of its last thousand calls may be in use, so other calls follow the leak.
    for (int i = 0; i < 200; ++i) life::cycle();
  }
  // Makes one finding before the timer starts, because the timer does not wait for this process to
  // get a processor.
  if (std::strcmp(what, "finding") == 0) life::misuse();
  ::signal(SIGALRM, [](int) { ::_exit(51); });
  itimerval once{{0, 0}, {0, 10000 + ::getpid() % 1000 * 7}};
  if (std::strcmp(what, "threads") == 0) std::thread(churn).detach();
  ::setitimer(ITIMER_REAL, &once, nullptr);
  if (std::strcmp(what, "calls") == 0)
    for (;;) life::cycle();
  if (std::strcmp(what, "finding") == 0)
    for (;;) misuse_at_each(std::make_integer_sequence<int, 64>());
  churn();
  return 1;
}

// exit() in a handler is not allowed, but programs do it.
int plain_exit_in_handler(const char*) {
  life::init();
  life::misuse();
  life::leak();
  std::fputs("written before\n", stdout);
  ::signal(SIGUSR1, [](int) { std::exit(11); });
  ::raise(SIGUSR1);
  return 1;
}

int two_threads_exit(const char* how) {
  life::init();
  life::misuse();
  static bool now;
  now = std::strcmp(how, "_exit") == 0;
  if (!now) {
    std::thread([] { ::_exit(0); }).detach();
    std::exit(0);
  }
  for (int i = 0; i < 2; ++i) std::thread([] { ::_exit(0); }).detach();
  for (;;) ::pause();
}

int killed(const char* signal) {
  life::init();
  life::misuse();
  life::leak();
  ::raise(std::atoi(signal));
  return 1;
}

// A child is killed; the program goes on and exits normally.
int child_killed(const char* signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    life::init();
    life::misuse();
    ::raise(std::atoi(signal));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 12 : 13;
}

// Runtimes such as Rust's give a thread a small stack for signals.
int abort_on_small_stack(const char* size) {
  const std::size_t bytes = std::strtoul(size, nullptr, 10);
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::mprotect(memory, 4096, PROT_NONE);
  stack_t stack{};
  stack.ss_sp = memory + 4096;
  stack.ss_size = bytes;
  ::sigaltstack(&stack, nullptr);
  life::init();
  life::misuse();
  life::leak();
  std::abort();
}

// malloc finds its heap broken and aborts while it holds its locks.
int abort_in_malloc(const char*) {
  life::init();
  life::misuse();
  // The last block lies before the rest of the heap, whatever was freed before.
  volatile std::size_t* block = nullptr;
  for (int i = 0; i < 4096; ++i) block = static_cast<volatile std::size_t*>(std::malloc(24));
  block[3] = 0x11;  // the size of the rest of the heap
  std::free(std::malloc(100000));
  std::free(std::malloc(4000));
  return 55;
}

int many_crash(const char*) {
  life::init();
  life::misuse();
  for (int i = 0; i < 16; ++i) {
    std::thread([] { *reinterpret_cast<volatile int*>(8) = 1; }).detach();
  }
  for (;;) ::pause();
}

// A handler that was registered before the shim was initialised runs after the shim's last report.
bool g_late = false;

int late(const char*) {
  life::init();
  g_late = true;
  std::quick_exit(0);  // exit() would end the driver before
}

void register_early(int, char**, char**) {
  std::at_quick_exit([] {
    if (g_late) life::misuse();
  });
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const g_before_all)(int, char**,
                                                                         char**) = &register_early;

// An object in static storage frees its memory after the driver has ended, because it is made
// before cuInit, and destroyed after the objects that cuInit registered.
struct Buffer {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  Buffer() = default;
  ~Buffer() {
    if (!address) return;
    const int unmapped = cuMemUnmap(address, life::kPage);
    const int released = cuMemRelease(handle);
    std::printf("%d %d %d\n", unmapped, released, cuMemAddressFree(address, life::kPage));
  }
} g_buffer;

int freed_after_the_driver(const char*) {
  life::init();
  const CUmemAllocationProp prop = life::properties();
  life::must(cuMemAddressReserve(&g_buffer.address, life::kPage, 0, 0, 0));
  life::must(cuMemCreate(&g_buffer.handle, life::kPage, &prop, 0));
  life::must(cuMemMap(g_buffer.address, life::kPage, 0, g_buffer.handle, 0));
  return 0;
}

constexpr life::Scenario kScenarios[] = {
    {"freed-after-the-driver", freed_after_the_driver},
    {"late", late},
    {"exit-in-handler", exit_in_handler},
    {"plain-exit-in-handler", plain_exit_in_handler},
    {"two-threads-exit", two_threads_exit},
    {"killed", killed},
    {"child-killed", child_killed},
    {"abort-on-small-stack", abort_on_small_stack},
    {"abort-in-malloc", abort_in_malloc},
    {"many-crash", many_crash},
};

}  // namespace

int main(int count, char** arguments) { return life::run(kScenarios, count, arguments); }
