#include "shim/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "shim/in_flight.h"
#include "shim/process.h"

namespace cuvmm::shim {

namespace {

constexpr unsigned kSecondsForReport = 3;
constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

std::atomic<int> g_status{0};
std::atomic<int> g_signal{0};

void unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void on_alarm(int) {
  const int signal = g_signal.load();
  if (signal != 0) {
    ::signal(signal, SIG_DFL);
    unblock(signal);
    ::kill(::getpid(), signal);
    return;
  }
  ::syscall(SYS_exit_group, g_status.load());
}

void set_alarm(unsigned seconds) {
  struct sigaction action {};
  action.sa_handler = &on_alarm;
  ::sigaction(SIGALRM, &action, nullptr);
  unblock(SIGALRM);
  ::alarm(seconds);
}

// SA_RESETHAND has put the default back: a fault comes again on return and kills; a signal that
// somebody sent does not, and is sent again.
void on_fatal(int signal, siginfo_t* siginfo, void*) {
  static std::atomic<bool> entered{false};
  if (!entered.exchange(true)) {
    g_signal.store(signal);
    set_alarm(kSecondsForReport);
    Process& process = Process::get();
    if (const InFlight* call = in_flight()) process.session().report_crash(*call);
    process.finish("signal");
    ::alarm(0);
  }
  if (siginfo->si_code <= 0) ::raise(signal);
}

}  // namespace

void exit_if_stuck(unsigned seconds, int status) noexcept {
  g_status.store(status);
  set_alarm(seconds);
}

void handle_fatal_signals() noexcept {
  for (const int signal : kFatal) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0) continue;
    if ((before.sa_flags & SA_SIGINFO) || before.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_sigaction = &on_fatal;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace cuvmm::shim
