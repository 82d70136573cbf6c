// SPDX-License-Identifier: Apache-2.0
// Ways in which two threads end the program, or one thread ends it twice.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "life.h"

namespace {

constexpr int kFirst = 41, kSecond = 70;

std::atomic<bool> g_first_ends{false};

// Ends the program by `leave` so many microseconds after the first thread begins to end it.
template <class Leave>
void end_later(const char* microseconds, const Leave& leave) {
  const int wait = std::atoi(microseconds);
  std::thread([=] {
    while (!g_first_ends) {
    }
    ::usleep(wait);
    leave(kSecond);
  }).detach();
  ::usleep(20000);
  g_first_ends = true;
}

void begin() {
  life::init();
  life::leak();
  life::misuse();
}

// main() calls exit(), and another thread calls exit() meanwhile.
int exit_twice(const char* microseconds) {
  begin();
  end_later(microseconds, [](int code) { std::exit(code); });
  std::exit(kFirst);
}

// The C library's own exit() comes first, which no library can replace.
int exit_after_return(const char* microseconds) {
  begin();
  end_later(microseconds, [](int code) { std::exit(code); });
  return kFirst;
}

int quick_exit_twice(const char* microseconds) {
  begin();
  end_later(microseconds, [](int code) { std::quick_exit(code); });
  std::quick_exit(kFirst);
}

// Does as every macro that checks results: a refusal after the driver's end makes it exit.
int workers_see_the_end(const char* threads) {
  life::init();
  life::leak();
  for (int i = std::atoi(threads); i > 0; --i) {
    std::thread([] {
      const CUmemAllocationProp prop = life::properties();
      for (;;) {
        CUmemGenericAllocationHandle handle = 0;
        if (cuMemCreate(&handle, life::kPage, &prop, 0) != CUDA_SUCCESS) std::exit(kSecond);
        if (cuMemRelease(handle) != CUDA_SUCCESS) std::exit(kSecond);
      }
    }).detach();
  }
  ::usleep(50000);
  std::exit(kFirst);
}

int all_exit(const char* threads) {
  begin();
  for (int i = std::atoi(threads); i > 0; --i) {
    std::thread([] {
      while (!g_first_ends) {
      }
      std::exit(kFirst);
    }).detach();
  }
  ::usleep(20000);
  g_first_ends = true;
  std::exit(kFirst);
}

// The C library calls the remaining handlers, and the last code counts.
int exit_in_exit(const char*) {
  begin();
  std::atexit([] { std::puts("the handler that was registered first"); });
  std::atexit([] { std::exit(kFirst); });
  std::exit(kSecond);
}

struct ExitsLate {
  bool armed = false;
  ExitsLate() = default;
  ~ExitsLate() {
    if (armed) std::exit(kFirst);
  }
} g_exits_late;

int exit_in_destructor(const char*) {
  begin();
  g_exits_late.armed = true;
  return kSecond;
}

// A handler waits for a thread that ends the program.
int exit_joins_exit(const char*) {
  begin();
  static std::thread second;
  std::atexit([] {
    g_first_ends = true;
    second.join();
  });
  second = std::thread([] {
    while (!g_first_ends) {
    }
    std::exit(kSecond);
  });
  std::exit(kFirst);
}

// The last thread ends, and the C library calls exit(0).
int main_ends_as_thread(const char*) {
  begin();
  std::thread([] { ::usleep(20000); }).detach();
  ::pthread_exit(nullptr);
}

int trace_much(const char*) {
  life::init();
  for (int i = 0; i < 200; ++i) life::cycle();
  return 0;
}

// Runs before the C library knows the environment, and before the shim's constructors.
CUresult g_early = CUDA_ERROR_UNKNOWN;

void use_the_driver_early(int count, char** arguments, char**) {
  if (count > 1 && std::strcmp(arguments[1], "used-before-all") == 0) g_early = cuInit(0);
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const g_before_all)(int, char**, char**) = &use_the_driver_early;

int driver_before_all(const char*) {
  begin();
  return g_early == CUDA_SUCCESS ? 0 : 70;
}

constexpr life::Scenario kScenarios[] = {
    {"exit-twice", exit_twice},
    {"exit-after-return", exit_after_return},
    {"quick-exit-twice", quick_exit_twice},
    {"workers-see-the-end", workers_see_the_end},
    {"all-exit", all_exit},
    {"exit-in-exit", exit_in_exit},
    {"exit-in-destructor", exit_in_destructor},
    {"exit-joins-exit", exit_joins_exit},
    {"used-before-all", driver_before_all},
    {"trace-much", trace_much},
    {"main-ends-as-thread", main_ends_as_thread},
};

}  // namespace

int main(int count, char** arguments) { return life::run(kScenarios, count, arguments); }
