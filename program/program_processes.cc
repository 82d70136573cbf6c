// SPDX-License-Identifier: Apache-2.0
#include "program/program_processes.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "program/session.h"

namespace cuvmm::program {

namespace {

constexpr std::chrono::milliseconds kForever{-1};

// Collects the names in a value, in order.
void collect_names(const Value& value, std::set<std::string>& names) {
  if (value.kind == Value::Kind::kName) names.insert(value.text);
  for (const Argument& part : value.parts) collect_names(part.value, names);
}

Message fetched(const Session& session, const std::string& name) {
  Message reply;
  reply.type = Message::Type::kBinding;
  const Binding* binding = session.binding(name);
  if (!binding) return reply;
  reply.kind = static_cast<std::uint32_t>(binding->kind);
  reply.number = binding->number;
  if (binding->kind == Binding::Kind::kDescriptor) reply.fd = static_cast<int>(binding->number);
  if (binding->kind == Binding::Kind::kBuffer)
    reply.text.assign(reinterpret_cast<const char*>(binding->number), binding->size);
  return reply;
}

// The message has the name, a zero byte, and a buffer's bytes.
void bind_carried(Session& session, const Message& message) {
  Binding binding{static_cast<Binding::Kind>(message.kind), message.number, 0};
  const std::size_t end = message.text.find('\0');
  if (binding.kind == Binding::Kind::kDescriptor) {
    binding.number = static_cast<std::uint64_t>(std::int64_t{message.fd});
  } else if (binding.kind == Binding::Kind::kBuffer) {
    binding.size = message.text.size() - end - 1;
    void* copy = session.buffer(binding.size, 0);
    std::memcpy(copy, message.text.data() + end + 1, binding.size);
    binding.number = reinterpret_cast<std::uintptr_t>(copy);
  }
  session.bind(message.text.substr(0, end), binding);
}

/// The main loop of a forked process: executes the statements that it receives, until its channel
/// ends.
[[noreturn]] void serve(Channel channel, const Driver& driver, Program program,
                        const ProcessReuse& reuse, bool normal_exit) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto leave = [&] { normal_exit ? std::exit(0) : std::_Exit(0); };
  const Driver table = reuse.prepare ? reuse.prepare(driver) : driver;
  auto session = std::make_unique<Session>(table);
  while (auto message = channel.receive(kForever)) {
    Message reply;
    switch (message->type) {
      case Message::Type::kProgram:
        program = parse_program(message->text).program;
        continue;
      case Message::Type::kExecute: {
        const Statement& statement = program.statements[message->number];
        if (statement.function == "exit" && statement.thread == 0) leave();
        reply.type = Message::Type::kOutcome;
        reply.text = outcome_text(session->execute(statement));
        break;
      }
      case Message::Type::kFetch:
        reply = fetched(*session, message->text);
        break;
      case Message::Type::kBinding:
        bind_carried(*session, *message);
        continue;
      case Message::Type::kTidy:
        // Tidies before the session ends, because a running copy may still use the session's
        // buffers. Descriptors that the program left open stay open: later descriptors get other
        // numbers, and no outcome shows them.
        if (!reuse.tidy()) leave();
        session = std::make_unique<Session>(table);
        reply.type = Message::Type::kDone;
        break;
      case Message::Type::kOutcome:
      case Message::Type::kDone:
        session.reset();
        leave();
    }
    if (!channel.send(reply)) break;
  }
  session.reset();
  leave();
  __builtin_unreachable();
}

}  // namespace

ProgramProcesses::~ProgramProcesses() {
  // Ends all channels before it waits, because a process holds copies of the channels that were
  // open when it was forked.
  for (auto& [number, process] : processes_) {
    if (process.alive) process.channel.send({});
  }
  for (auto& [number, process] : processes_) {
    if (process.alive) reap(process);
  }
}

std::vector<Outcome> ProgramProcesses::run(const Program& program) {
  program_ = &program;
  holders_.clear();
  std::set<int> numbers;
  for (const Statement& statement : program.statements) numbers.insert(statement.process);
  std::string text;
  for (int number : numbers) {
    const auto found = processes_.find(number);
    if (found != processes_.end() && found->second.alive) {
      if (text.empty()) text = print(program);
      Message message;
      message.type = Message::Type::kProgram;
      message.text = text;
      if (found->second.channel.send(message)) continue;
      died(found->second);
    }
    start(number);
  }
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < program.statements.size(); ++i) outcomes.push_back(execute(i));
  if (reuse_.tidy) tidy();
  program_ = nullptr;
  return outcomes;
}

void ProgramProcesses::start(int number) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
  processes_.erase(number);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    close(pair[0]);
    for (auto& [other, process] : processes_) process.channel.close_now();
    serve(Channel(pair[1]), driver_, *program_, reuse_, options_.normal_exit);
  }
  close(pair[1]);
  if (options_.process_ids) options_.process_ids->push_back(pid);
  processes_.emplace(number, Process{Channel(pair[0]), pid, true, ""});
}

Outcome ProgramProcesses::execute(std::size_t index) {
  const Statement& statement = program_->statements[index];
  Process& process = processes_.at(statement.process);
  Outcome outcome;
  if (!process.alive) {
    outcome.detail = "its process is gone (" + process.end_reason + ")";
    return outcome;
  }
  std::set<std::string> names;
  for (const Argument& argument : statement.arguments) collect_names(argument.value, names);
  for (const std::string& name : names) carry(name, statement.process);
  if (!statement.result.empty()) holders_[statement.result] = {statement.process};
  Message request;
  request.type = Message::Type::kExecute;
  request.number = index;
  std::optional<Message> reply;
  if (process.channel.send(request)) reply = process.channel.receive(options_.timeout);
  if (reply) return parse_outcome(reply->text);
  if (process.channel.timed_out()) {
    kill_hanging(process);
    outcome.status = Outcome::Status::kTimeout;
    return outcome;
  }
  outcome = died(process);
  const bool meant = statement.function == "exit" && outcome.detail == "0";
  return meant ? Outcome{Outcome::Status::kDone, CUDA_SUCCESS, "", ""} : outcome;
}

// Brings a name that another process bound last to the process `to`, unless that has it already.
void ProgramProcesses::carry(const std::string& name, int to) {
  const auto found = holders_.find(name);
  if (found == holders_.end() || found->second.contains(to)) return;
  Process* living = nullptr;
  for (int holder : found->second) {
    if (Process& process = processes_.at(holder); process.alive) living = &process;
  }
  if (!living) return;  // the statement will report that nothing binds the name
  Process& from = *living;
  Message fetch;
  fetch.type = Message::Type::kFetch;
  fetch.text = name;
  if (!from.channel.send(fetch)) return;
  auto reply = from.channel.receive(options_.timeout);
  if (!reply) return;
  reply->text = name + std::string(1, '\0') + reply->text;
  processes_.at(to).channel.send(*reply);
  if (reply->fd >= 0) close(reply->fd);
  found->second.insert(to);
}

// From the last process to the first, so that importers free memory before its exporters.
void ProgramProcesses::tidy() {
  for (auto each = processes_.rbegin(); each != processes_.rend(); ++each) {
    Process& process = each->second;
    if (!process.alive) continue;
    Message request;
    request.type = Message::Type::kTidy;
    if (process.channel.send(request) && process.channel.receive(options_.timeout)) continue;
    process.channel.timed_out() ? kill_hanging(process) : static_cast<void>(died(process));
  }
}

// Waits for the end of a process, but not for ever, because its exit handlers may hang.
int ProgramProcesses::reap(Process& process) {
  process.alive = false;
  int status = 0;
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  while (waitpid(process.pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(process.pid, SIGKILL);
      waitpid(process.pid, &status, 0);
      break;
    }
    usleep(200);
  }
  return status;
}

void ProgramProcesses::kill_hanging(Process& process) {
  kill(process.pid, SIGKILL);
  reap(process);
  process.end_reason = "timeout";
}

Outcome ProgramProcesses::died(Process& process) {
  Outcome outcome = outcome_of_end(reap(process));
  process.end_reason = outcome_text(outcome);
  return outcome;
}

}  // namespace cuvmm::program
