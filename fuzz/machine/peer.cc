// SPDX-License-Identifier: Apache-2.0
#include "fuzz/machine/peer.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "fuzz/machine/remote_call.h"
#include "program/run_program.h"

namespace cuvmm::fuzz {

using program::outcome_of_end;
using program::outcome_text;

namespace {

constexpr std::chrono::milliseconds kForever{-1};
constexpr std::chrono::milliseconds kPatience{20000};  // for one call

Peer* current = nullptr;

// The descriptor that a successful call of this kind wrote behind its first pointer; null for other
// calls.
template <class CallStruct>
const int* exported(const CallStruct& call) {
  if constexpr (requires { call.shareableHandle; }) {
    const bool posix = call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return posix ? static_cast<const int*>(call.shareableHandle) : nullptr;
  } else if constexpr (requires { call.dptr, call.handleType; }) {
    return static_cast<const int*>(call.handle);
  }
  return nullptr;
}

/// The server's side of one call.
template <class CallStruct>
Message answer(const Driver& driver, const Message& request) {
  Message reply;
  reply.type = Message::Type::kOutcome;
  Unpacked<CallStruct> unpacked(request.text);
  if (!unpacked.whole) {
    reply.number = CUDA_ERROR_UNKNOWN;
    return reply;
  }
  CallStruct& call = unpacked.call;
  if constexpr (requires { call.osHandle; }) {
    if (request.fd >= 0) {
      call.osHandle = reinterpret_cast<void*>(static_cast<std::intptr_t>(request.fd));
    }
  }
  const CUresult result = driver(call);
  reply.number = static_cast<std::uint64_t>(result);
  reply.text = memory_of(call);
  const int* fd = result == CUDA_SUCCESS ? exported(call) : nullptr;
  if (fd) reply.fd = *fd;
  return reply;
}

using Answerer = Message (*)(const Driver&, const Message&);

Answerer find_answerer(std::uint64_t entry) {
  Answerer found = nullptr;
  each_remote_call([&]<class CallStruct> {
    if (static_cast<std::uint64_t>(CallStruct::kEntryPoint) == entry) found = &answer<CallStruct>;
  });
  return found;
}

[[noreturn]] void serve(Channel channel, const std::string& path) {
  const LoadedDriver loaded = load_driver(path);
  while (auto request = channel.receive(kForever)) {
    Message reply;
    reply.type = Message::Type::kOutcome;
    reply.number = CUDA_ERROR_NOT_FOUND;
    const Answerer answerer = find_answerer(request->number);
    if (answerer && loaded.error.empty()) reply = answerer(loaded.driver, *request);
    if (request->fd >= 0) close(request->fd);
    const bool sent = channel.send(reply);
    if (reply.fd >= 0) close(reply.fd);
    if (!sent) break;
  }
  std::_Exit(0);
}

template <EntryPoint, class Function>
struct Way;
template <EntryPoint entry, class... Args>
struct Way<entry, CUresult(CUDAAPI*)(Args...)> {
  static CUresult CUDAAPI call(Args... args) {
    return current ? current->call(CallOf<entry>{args...}) : CUDA_ERROR_UNKNOWN;
  }
};

// Whether the number is an open descriptor of this process; 0 has a meaning of its own.
bool is_open(std::intptr_t number) {
  return number > 0 && number <= 0x7fffffff && fcntl(static_cast<int>(number), F_GETFD) >= 0;
}

}  // namespace

Peer::Peer(const std::string& driver) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(0);
    close(pair[0]);
    serve(Channel(pair[1]), driver);
  }
  close(pair[1]);
  channel_.emplace(pair[0]);
  current = this;
}

Peer::~Peer() {
  if (current == this) current = nullptr;
  channel_->close_now();
  if (lost_.empty()) wait_for_end();
}

int Peer::wait_for_end() {
  int status = 0;
  for (int i = 0; i < 2000; ++i) {
    if (waitpid(pid_, &status, WNOHANG) != 0) return status;
    usleep(1000);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, &status, 0);
  return status;
}

Driver Peer::driver() {
  Driver out;
  each_remote_call([&]<class CallStruct> {
    constexpr EntryPoint entry = CallStruct::kEntryPoint;
    out.set(Driver::primary_symbol(entry), reinterpret_cast<Driver::AnyFunction>(
                                               &Way<entry, typename CallStruct::Function>::call));
  });
  return out;
}

std::optional<Message> Peer::ask(Message& request) {
  if (!lost_.empty()) return std::nullopt;
  std::optional<Message> reply;
  if (channel_->send(request)) reply = channel_->receive(kPatience);
  if (reply) return reply;
  const bool late = channel_->timed_out();
  if (late) kill(pid_, SIGKILL);
  // A channel may fail although the peer lives; waiting for ever would not help.
  const int status = wait_for_end();
  lost_ = late ? "timeout" : outcome_text(outcome_of_end(status));
  return std::nullopt;
}

template <class CallStruct>
CUresult Peer::call(const CallStruct& call) {
  Message request;
  request.type = Message::Type::kExecute;
  request.number = static_cast<std::uint64_t>(CallStruct::kEntryPoint);
  request.text = pack(call);
  if constexpr (requires { call.osHandle; }) {
    const auto number = reinterpret_cast<std::intptr_t>(call.osHandle);
    if (is_open(number)) request.fd = static_cast<int>(number);
  }
  const auto reply = ask(request);
  if (!reply) return CUDA_ERROR_UNKNOWN;
  put_back(call, reply->text);
  if (reply->fd >= 0) {
    // The number that the descriptor has in this process.
    if (const int* place = exported(call)) *const_cast<int*>(place) = reply->fd;
  }
  return static_cast<CUresult>(reply->number);
}

}  // namespace cuvmm::fuzz
