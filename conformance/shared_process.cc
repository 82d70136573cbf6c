#include "conformance/shared_process.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "api/session.h"
#include "conformance/tidy_driver.h"

namespace cuvmm {

namespace {

constexpr std::chrono::milliseconds kForever{-1};

[[noreturn]] void serve(Channel channel, const Driver& driver) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Driver table = tidy_driver(driver);
  while (auto request = channel.receive(kForever)) {
    const Program program = parse_program(request->text).program;
    // Descriptors that it leaves open stay: their numbers are new, and no outcome shows them.
    Session session(table);
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
      Message reply;
      reply.type = Message::Type::kOutcome;
      reply.number = i;
      reply.text = outcome_text(session.execute(program.statements[i]));
      if (!channel.send(reply)) std::_Exit(0);
    }
    tidy_up();
    Message done;
    done.type = Message::Type::kDone;
    if (!channel.send(done)) break;
  }
  std::_Exit(0);
}

}  // namespace

bool may_share_process(const Program& program) {
  static constexpr const char* kAlone[] = {"exit",         "receive", "context",
                                           "cuMemGetInfo", "peek",    "poke"};
  if (program.statements.empty()) return false;
  const Statement& first = program.statements.front();
  if (first.function != "init" || !first.arguments.empty()) return false;
  return std::none_of(program.statements.begin(), program.statements.end(), [](const Statement& s) {
    const bool alone = std::any_of(std::begin(kAlone), std::end(kAlone),
                                   [&](const char* name) { return s.function == name; });
    return alone || s.process != 0 || s.thread != 0 || s.function.rfind("cuCtx", 0) == 0 ||
           s.function.rfind("cuDevicePrimaryCtx", 0) == 0;
  });
}

void SharedProcess::start() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    close(pair[0]);
    serve(Channel(pair[1]), driver_);
  }
  close(pair[1]);
  channel_ = std::make_unique<Channel>(pair[0]);
}

void SharedProcess::stop() {
  channel_.reset();
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Outcome SharedProcess::end(bool timed_out) {
  Outcome outcome;
  if (timed_out) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  channel_.reset();
  if (timed_out) {
    outcome.status = Outcome::Status::kTimeout;
  } else if (WIFSIGNALED(status)) {
    outcome.status = Outcome::Status::kSignal;
    outcome.detail = signal_name(WTERMSIG(status));
  } else {
    outcome.status = Outcome::Status::kExited;
    outcome.detail = std::to_string(WEXITSTATUS(status));
  }
  return outcome;
}

std::vector<Outcome> SharedProcess::run(const Program& program) {
  if (pid_ < 0) start();
  std::vector<Outcome> outcomes;
  Message request;
  request.type = Message::Type::kExecute;
  request.text = print(program);
  bool alive = channel_->send(request);
  while (alive) {
    const auto reply = channel_->receive(options_.timeout);
    if (reply && reply->type == Message::Type::kDone) return outcomes;
    if (reply) {
      outcomes.push_back(parse_outcome(reply->text));
      continue;
    }
    alive = false;
    // Died while tidying up: every statement has answered.
    const bool answered = outcomes.size() == program.statements.size();
    const Outcome how = end(channel_->timed_out());
    if (!answered) outcomes.push_back(how);
    Outcome not_run;
    not_run.detail = "its process is gone (" + outcome_text(how) + ")";
    outcomes.resize(program.statements.size(), not_run);
  }
  return outcomes;
}

}  // namespace cuvmm
