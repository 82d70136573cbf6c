// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/held_up.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "emulator/base/system.h"
#include "emulator/core/emulator.h"
#include "emulator/core/locked.h"
#include "emulator/objects/host_call.h"

namespace cuvmm::emulator {

namespace {

bool helping = false;  ///< the helper runs; changes under the emulator's lock

// Does work that has become possible; false once no work is left.
bool help_once() {
  bool more = false;
  (void)locked([&](Emulator& e) {
    e.queues.passed(e);
    more = helping = !e.queues.idle();
    return CUDA_SUCCESS;
  });
  return more;
}

void* help(void*) {
  constexpr std::chrono::milliseconds kBetweenLooks{1};
  do {
    std::this_thread::sleep_for(kBetweenLooks);
  } while (help_once());
  return nullptr;
}

std::string text_of(const char* path) {
  std::string text;
  const int fd = sys_open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  for (ssize_t got; (got = sys_read(fd, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  sys_close(fd);
  return text;
}

// The threads of the process; 0 where the kernel does not say.
std::size_t threads() {
  constexpr std::string_view kLine = "\nThreads:";
  const std::string status = text_of("/proc/self/status");
  const std::size_t at = status.find(kLine);
  return at == std::string::npos ? 0
                                 : std::strtoull(status.c_str() + at + kLine.size(), nullptr, 10);
}

// Whether the program mapped the page so that other processes may have it, too.
bool in_shared_mapping(Address address) {
  const std::string maps = text_of("/proc/self/maps");
  std::size_t line = 0;
  for (std::size_t end; (end = maps.find('\n', line)) != std::string::npos; line = end + 1) {
    Address from = 0, to = 0;
    char flags[5] = {};
    const int found =
        std::sscanf(maps.c_str() + line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, flags);
    if (found == 3 && from <= address && address < to) return flags[3] == 's';
  }
  return false;
}

bool other_processes_may_write(Emulator& e, Address word) {
  if (const Mapping* const mapping = e.model.mapping_at(word)) {
    const Physical* const memory = e.physical.find(mapping->handle);
    return memory && memory->may_be_elsewhere();
  }
  if (const PlainAllocation* const plain = e.plain.at(word)) {
    return plain->ticket != IpcBytes{} || plain->external || plain->memory.may_be_elsewhere();
  }
  const HostBlock* const block = e.host.at(word);
  return block && block->registered && in_shared_mapping(word);
}

}  // namespace

void hold_up(Emulator& e) {
  e.queues.hold_up();
  if (helping) return;
  // Signals must reach the program's own threads only.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  // Without a thread the work is done inside driver calls.
  helping = pthread_create(&thread, nullptr, &help, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (helping) pthread_detach(thread);
}

std::string who_may_end(Emulator& e, const std::vector<Queues::Wait>& waits, std::size_t callers) {
  const std::size_t own = callers + (helping ? 1 : 0) + (HostCall::has_thread() ? 1 : 0);
  const std::size_t all = threads();
  if (all == 0) return "another thread";
  if (all > own) return all - own == 1 ? "another thread" : "other threads";
  const bool elsewhere = std::any_of(waits.begin(), waits.end(), [&](const Queues::Wait& wait) {
    return wait.semaphore || (wait.word != 0 && other_processes_may_write(e, wait.word));
  });
  return elsewhere ? "another process" : "";
}

std::string after_long_wait(const std::string& who) {
  const std::string text =
      "streams: nothing ended a stream's wait for a value or a semaphore in ten seconds; ";
  if (!who.empty()) {
    return text + "the call that waits for the stream goes on waiting, because " + who +
           " may still end it";
  }
  return text +
         "no other thread and no other process can end it, so a GPU would wait for ever; the call "
         "that waits for the stream answers CUDA_ERROR_TIMEOUT";
}

}  // namespace cuvmm::emulator
