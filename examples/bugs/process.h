// SPDX-License-Identifier: Apache-2.0
// A second process for the bugs that need one: forked before any CUDA call, connected by pipes.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace bug {

/// Sends values to the other process and receives them, byte by byte, in order.
class Peer {
 public:
  Peer(int in, int out) : in_(in), out_(out) {}
  template <class Value>
  void send(const Value& value) const {
    if (write(out_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::exit(1);
  }
  template <class Value>
  Value receive() const {
    Value value;
    if (read(in_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::exit(1);
    return value;
  }
  void done() const { send('.'); }
  void wait() const { receive<char>(); }

 private:
  int in_, out_;
};

/// Runs `importer` in a child and `exporter` in this process; both return an exit code. The
/// program's exit code is 0 when both are. When one process ends early, the other's next send() or
/// receive() ends it, because no process keeps a copy of the other's ends, and a write without a
/// reader is an error, not SIGPIPE.
template <class Exporter, class Importer>
int in_two_processes(Exporter exporter, Importer importer) {
  int down[2], up[2];
  if (pipe(down) != 0 || pipe(up) != 0) return 1;
  signal(SIGPIPE, SIG_IGN);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    close(down[1]);
    close(up[0]);
    std::exit(importer(Peer(down[0], up[1])));
  }
  close(down[0]);
  close(up[1]);
  const int here = exporter(Peer(up[0], down[1]));
  close(down[1]);  // before the wait, because the child may still send
  close(up[0]);
  int status = 1;
  waitpid(child, &status, 0);
  const int there = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return here != 0 ? here : there;
}

}  // namespace bug
