// SPDX-License-Identifier: Apache-2.0
#include "shim/process/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include "api/posix/lost_pages.h"

#include "shim/base/in_flight.h"
#include "shim/base/reserve.h"

namespace cuvmm::shim {

namespace {

constexpr unsigned kSecondsForSymbols = 3;
constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

std::atomic<int> g_status{0};
std::atomic<int> g_signal{0};
std::atomic<DeathReport*> g_report{nullptr};

void unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

[[noreturn]] void die_of(int signal) {
  ::signal(signal, SIG_DFL);
  unblock(signal);
  ::kill(::getpid(), signal);
  for (;;) ::pause();
}

void catch_signals(std::initializer_list<int> signals, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int signal : signals) {
    ::sigaction(signal, &action, nullptr);
    unblock(signal);
  }
}

// The search for symbols failed or hangs: prints the report without symbols, and dies of the first
// signal.
void on_second(int) {
  static std::atomic<bool> entered{false};
  if (!entered.exchange(true)) g_report.load()->tell_without_symbols();
  die_of(g_signal.load());
}

void catch_fatal(int signal);

// SA_RESETHAND has put the default action back: a fault comes again on return and kills the
// process; a signal that a process sent does not, and is raised again.
void on_fatal(int signal, siginfo_t* siginfo, void*) {
  // Another process has truncated one of cuvmm's files, which is no fault of the program.
  if (signal == SIGBUS && siginfo->si_code > 0 && replace_lost_pages(siginfo->si_addr)) {
    return catch_fatal(signal);
  }
  DeathReport& report = *g_report.load();
  if (report.begin()) {
    g_signal.store(signal);
    const bool fault = siginfo->si_code > 0 && siginfo->si_code != SI_KERNEL &&
                       (signal == SIGSEGV || signal == SIGBUS);
    const bool sent = siginfo->si_code <= 0;
    report.note_signal({.number = signal,
                        .address = reinterpret_cast<std::uintptr_t>(siginfo->si_addr),
                        .fault = fault,
                        .own = !sent || siginfo->si_pid == ::getpid()});
    report.report_death();
    // From here on the code uses the program's heap and the loader, which may be broken or locked.
    catch_signals({SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}, &on_second);
    ::alarm(kSecondsForSymbols);
    report.tell_with_symbols();
    ::alarm(0);
    report.end();
    for (const int fatal : kFatal) ::signal(fatal, SIG_DFL);
  }
  if (siginfo->si_code <= 0) ::raise(signal);
}

void catch_fatal(int signal) {
  struct sigaction action {};
  action.sa_sigaction = &on_fatal;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void exit_if_stuck(unsigned seconds, int status) noexcept {
  g_status.store(status);
  catch_signals({SIGALRM}, [](int) { ::syscall(SYS_exit_group, g_status.load()); });
  ::alarm(seconds);
}

void handle_fatal_signals(DeathReport& report) noexcept {
  g_report.store(&report);
  for (const int signal : kFatal) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0) continue;
    if ((before.sa_flags & SA_SIGINFO) || before.sa_handler != SIG_DFL) continue;
    catch_fatal(signal);
  }
}

}  // namespace cuvmm::shim
