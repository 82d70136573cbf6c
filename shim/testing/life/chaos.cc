// SPDX-License-Identifier: Apache-2.0
// chaos SEED: workers that make only legal calls, in an order and with troubles that the seed
// decides: small stacks, fibers, cancelled threads, children, descriptors that run out or are
// closed. Each worker ends in one of many ways. Prints how each worker ended, which depends only on
// the seed. Every second worker plants a leak, and prints that.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "life.h"

namespace {

using Random = std::minstd_rand;

// A sanitizer makes every frame larger.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kSmallStack = std::size_t{1} << 20;
#else
constexpr std::size_t kSmallStack = std::size_t{64} << 10;
#endif

// Fills one block, copies it back, exports and imports it, and asks the driver about it.
void memory() {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0, again = 0;
  CUmemAllocationProp prop = life::properties();
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  life::must(cuMemAddressReserve(&address, life::kPage, 0, 0, 0));
  life::must(cuMemCreate(&handle, life::kPage, &prop, 0));
  int fd = -1;
  life::must(
      cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  life::must(cuMemImportFromShareableHandle(&again, reinterpret_cast<void*>(static_cast<long>(fd)),
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  ::close(fd);
  life::must(cuMemMap(address, life::kPage, 0, again, 0));
  life::must(cuMemSetAccess(address, life::kPage, &access, 1));
  life::must(cuMemsetD8(address, 7, 4096));
  char bytes[64] = {};
  life::must(cuMemcpyDtoH(bytes, address + 64, sizeof bytes));
  if (bytes[63] != 7) std::_Exit(71);
  life::must(cuMemUnmap(address, life::kPage));
  life::must(cuMemRelease(again));
  life::must(cuMemRelease(handle));
  life::must(cuMemAddressFree(address, life::kPage));
}

void* cycles(void*) {
  for (int i = 0; i < 5; ++i) life::cycle();
  return nullptr;
}

void thread_on_small_stack() {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kSmallStack);
  pthread_t thread;
  if (::pthread_create(&thread, &attributes, &cycles, nullptr) == 0)
    ::pthread_join(thread, nullptr);
}

void cancelled_thread() {
  pthread_t thread;
  const auto work = [](void*) -> void* {
    for (;;) {
      cycles(nullptr);
      ::pthread_testcancel();
    }
  };
  if (::pthread_create(&thread, nullptr, work, nullptr) != 0) return;
  life::cycle();
  ::pthread_cancel(thread);
  ::pthread_join(thread, nullptr);
}

void busy_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([] { cycles(nullptr); });
  for (std::thread& thread : threads) thread.join();
}

ucontext_t g_back, g_fiber;

void fiber() {
  static char stack[kSmallStack];
  ::getcontext(&g_fiber);
  g_fiber.uc_stack.ss_sp = stack;
  g_fiber.uc_stack.ss_size = sizeof stack;
  g_fiber.uc_link = &g_back;
  ::makecontext(
      &g_fiber, [] { life::cycle(); }, 0);
  ::swapcontext(&g_back, &g_fiber);
}

void child() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(3);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) std::_Exit(72);
}

void child_that_execs() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/true", "true", nullptr);
    ::_exit(4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::_Exit(73);
}

void no_descriptors() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{32, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<int> taken;
  for (int fd; (fd = ::open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
  life::cycle();
  for (const int fd : taken) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

void closed_descriptors() {
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  life::cycle();
}

void many_signals() {
  ::signal(SIGALRM, [](int) {});
  itimerval timer{{0, 500}, {0, 500}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
  for (int i = 0; i < 20; ++i) life::cycle();
  timer = {};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

constexpr void (*kTroubles[])() = {
    life::cycle, memory,           thread_on_small_stack, cancelled_thread,   busy_threads, fiber,
    child,       child_that_execs, no_descriptors,        closed_descriptors, many_signals,
};

// Starts threads that go on to make calls while the program ends.
void stay_busy() {
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      for (;;) cycles(nullptr);
    }).detach();
  }
}

// ThreadSanitizer runs handlers later, from its own functions: the shim cannot tell that one is
// running, and reports the thread's newest memory as a leak.
#if defined(__SANITIZE_THREAD__)
constexpr unsigned kEnds = 17;
#else
constexpr unsigned kEnds = 19;
#endif

// Two threads end the program at once, with an equal code.
template <class Leave>
[[noreturn]] void end_twice(const Leave& leave) {
  std::thread([=] { leave(); }).detach();
  leave();
  std::_Exit(74);
}

[[noreturn]] void end(unsigned how) {
  switch (how % kEnds) {
    case 0:
      std::exit(20);
    case 1:
      ::_exit(21);
    case 2:
      std::quick_exit(22);
    case 3:
      std::abort();
    case 4:
      ::raise(SIGKILL);
    case 5:
      ::raise(SIGTERM);
    case 6:
      *reinterpret_cast<volatile int*>(8) = 1;
    case 7:
      std::thread([] { std::exit(27); }).join();
    case 8:
      ::raise(SIGINT);
    case 9:
      ::raise(SIGHUP);
    case 10:
      std::atexit([] { std::abort(); });
      std::exit(30);
    case 11:
      std::atexit([] { std::exit(31); });
      std::exit(30);
    case 12:
      end_twice([] { std::exit(32); });
    case 13:
      end_twice([] { std::quick_exit(33); });
    case 14:
      end_twice([] { ::_exit(34); });
    case 15:
      ::raise(SIGQUIT);
    case 16:
      ::execl("/bin/sh", "sh", "-c", "exit 36", nullptr);
    case 17:
      ::signal(SIGTERM, [](int) { std::exit(35); });
      ::raise(SIGTERM);
    default: {
      ::signal(SIGALRM, [](int) { ::_exit(28); });
      const itimerval once{{0, 0}, {0, 3000}};
      ::setitimer(ITIMER_REAL, &once, nullptr);
      for (;;) cycles(nullptr);
    }
  }
}

// The size of the leak distinguishes it from the memory of the cycles. The cycle afterwards makes
// and uses other memory, which distinguishes the leak from memory in use.
void plant() {
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp prop = life::properties();
  life::must(cuMemCreate(&handle, 3 * life::kPage, &prop, 0));
  life::cycle();
}

[[noreturn]] void work(unsigned seed, bool plants) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // A shell starts programs in the background with these ignored.
  for (const int signal : {SIGINT, SIGQUIT}) ::signal(signal, SIG_DFL);
  Random random(seed);
  life::init();
  life::cycle();  // makes the files that outlive the process before a trouble can prevent that
  for (int steps = 5 + static_cast<int>(random() % 20); steps > 0; --steps) {
    kTroubles[random() % std::size(kTroubles)]();
    if (std::exchange(plants, false)) plant();
  }
  if (random() % 2 == 0) stay_busy();
  end(static_cast<unsigned>(random()));
}

}  // namespace

int main(int count, char** arguments) {
  Random random(count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1);
  constexpr int kWorkers = 6;
  for (int i = 0; i < kWorkers; ++i) {
    const auto seed = static_cast<unsigned>(random());
    const pid_t worker = ::fork();
    const bool plants = i % 2 == 1;
    if (worker == 0) work(seed, plants);
    int status = 0;
    ::waitpid(worker, &status, 0);
    if (WIFEXITED(status)) std::printf("worker %d: exit %d\n", i, WEXITSTATUS(status));
    if (WIFSIGNALED(status)) std::printf("worker %d: signal %d\n", i, WTERMSIG(status));
    if (plants) std::puts("which planted a leak");
    std::fflush(stdout);
  }
  return 0;
}
