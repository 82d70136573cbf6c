// SPDX-License-Identifier: Apache-2.0
// Threads that are cancelled, that have small stacks, that fork, that start all at once; and
// fibers.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "life.h"

namespace {

std::atomic<bool> g_stop{false};

// A pending cancellation acts at the program's own cancellation point, not in the shim's code.
int cancelled(const char* what) {
  life::init();
  const bool contended = std::strcmp(what, "contended") == 0;
  static bool finding;
  finding = std::strcmp(what, "finding") == 0;
  std::vector<std::thread> others;
  for (int i = 0; contended && i < 4; ++i) {
    others.emplace_back([] {
      while (!g_stop) life::cycle();
    });
  }
  int cancelled = 0;
  for (int i = 0; i < (contended ? 60 : 3); ++i) {
    pthread_t thread;
    ::pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          ::pthread_cancel(::pthread_self());
          for (int k = 0; k < 20; ++k) life::cycle();
          if (finding) life::misuse();
          ::pthread_testcancel();
          return nullptr;
        },
        nullptr);
    void* result = nullptr;
    ::pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  g_stop = true;
  for (std::thread& other : others) other.join();
  life::cycle();
  std::printf("%d cancelled\n", cancelled);
  return 0;
}

// `size` is the size of the stack, in bytes.
int small_stack(const char* size) {
  life::init();
  life::misuse();
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  if (::pthread_attr_setstacksize(&attributes, std::strtoul(size, nullptr, 10)) != 0) return 98;
  pthread_t thread;
  ::pthread_create(
      &thread, &attributes,
      [](void*) -> void* {
        life::cycle();
        cuMemMap(0, 0, 0, 0, 0);
        return nullptr;
      },
      nullptr);
  ::pthread_join(thread, nullptr);
  std::puts("alive");
  return 0;
}

ucontext_t g_back, g_fiber;

void on_fiber(char* stack, std::size_t size, void (*work)(), unsigned argument) {
  ::getcontext(&g_fiber);
  g_fiber.uc_stack.ss_sp = stack;
  g_fiber.uc_stack.ss_size = size;
  g_fiber.uc_link = nullptr;
  ::makecontext(&g_fiber, work, 1, argument);
  ::swapcontext(&g_back, &g_fiber);
}

int small_fiber(const char* size) {
  life::init();
  const std::size_t bytes = std::strtoul(size, nullptr, 10);
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::mprotect(memory, 4096, PROT_NONE);
  on_fiber(
      memory + 4096, bytes,
      [] {
        life::misuse();
        ::swapcontext(&g_fiber, &g_back);
      },
      0);
  std::puts("alive");
  return 0;
}

[[gnu::noinline]] void reserve_below(unsigned room) {
  auto* const hole = static_cast<volatile char*>(alloca(room));
  hole[0] = 1;
  CUdeviceptr address = 0;
  if (cuMemAddressReserve(&address, life::kPage, 0, 0, 0) == CUDA_SUCCESS) {
    cuMemAddressFree(address, life::kPage);
  }
  hole[room - 1] = hole[0];
}

void reserve_on_fiber(unsigned room) {
  reserve_below(room);
  ::swapcontext(&g_fiber, &g_back);
}

char* map_at(char* place, std::size_t size) {
  return static_cast<char*>(
      ::mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

// The call's return address and its slot are equal on both stacks; the frames above differ, and the
// small stack has ended at the addresses where the large one had them.
int fiber_gone(const char*) {
  life::init();
  constexpr std::size_t kLarge = 640 << 10, kSmall = 384 << 10;
  constexpr unsigned kRoom = 400 << 10;
  auto* const place = static_cast<char*>(
      ::mmap(nullptr, 2 * kLarge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  const auto work = reinterpret_cast<void (*)()>(&reserve_on_fiber);
  for (int i = 0; i < 3; ++i) {
    map_at(place, kLarge);
    on_fiber(place, kLarge, work, kRoom);
    on_fiber(place, kLarge, work, kRoom);
    ::munmap(place, kLarge);
    map_at(place, kSmall);
    on_fiber(place, kSmall, work, kRoom - (kLarge - kSmall));
    ::munmap(place, kSmall);
  }
  std::puts("alive");
  return 0;
}

// All threads make one mistake for the first time, at once.
int stampede(const char* count) {
  life::init();
  std::vector<std::thread> threads;
  for (int i = std::atoi(count); i > 0; --i) {
    threads.emplace_back([] {
      while (!g_stop) std::this_thread::yield();
      life::misuse();
    });
  }
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// Children are forked while other threads' findings are described. The threads make their findings
// in many functions, so that there is always a new one.
template <int N>
struct Misuses {
  [[gnu::noinline]] static void make(int which) {
    if (which == N)
      life::misuse();
    else
      Misuses<N - 1>::make(which);
  }
};
template <>
struct Misuses<0> {
  static void make(int) { life::misuse(); }
};

int fork_while_describing(const char*) {
  life::init();
  std::vector<std::thread> threads;
  std::atomic<int> next{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!g_stop) Misuses<60>::make(next++ % 60);
    });
  }
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      life::misuse();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) std::puts("a child did not end well");
  }
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  std::puts("alive");
  return 0;
}

volatile int g_forks = 0;

// The timer runs once, because a repeating timer would leave no time for other work if a fork takes
// longer than its interval.
void interrupt_soon() {
  const itimerval timer{{0, 0}, {0, 2000}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

int fork_in_handler(const char* count) {
  life::init();
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
    g_forks = g_forks + 1;
    interrupt_soon();
  };
  ::sigaction(SIGALRM, &action, nullptr);
  interrupt_soon();
  while (g_forks < std::atoi(count)) life::cycle();
  ::signal(SIGALRM, SIG_IGN);
  std::puts("alive");
  return 0;
}

constexpr life::Scenario kScenarios[] = {
    {"cancelled", cancelled},
    {"small-stack", small_stack},
    {"small-fiber", small_fiber},
    {"fiber-gone", fiber_gone},
    {"stampede", stampede},
    {"fork-while-describing", fork_while_describing},
    {"fork-in-handler", fork_in_handler},
};

}  // namespace

int main(int count, char** arguments) { return life::run(kScenarios, count, arguments); }
