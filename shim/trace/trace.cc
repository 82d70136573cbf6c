// SPDX-License-Identifier: Apache-2.0
#include "shim/trace/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "api/posix/raw_write.h"
#include "api/print.h"
#include "api/visit_call.h"
#include "shim/output/output.h"
#include "shim/trace/json_trace.h"
#include "shim/trace/trace_file.h"
#include "shim/trace/trace_names.h"

namespace cuvmm::shim {

namespace {

class Trace : public CallObserver {
 public:
  Trace(int fd, std::string path) : file_(fd, std::move(path)) {}

  void after(const Call& call, CUresult result, const CallMoment&) override {
    const std::lock_guard lock(mutex_);
    if (result == CUDA_SUCCESS) visit_call<bool>(call, ArgumentNamer{names_});
    std::string line = call_text(call, &names_);
    if (result == CUDA_SUCCESS) {
      const std::string name = visit_call<std::string>(call, ResultNamer{names_});
      if (!name.empty()) line = name + " = " + line;
    }
    const int thread = thread_number();
    if (thread != 0) line = "@t" + std::to_string(thread) + " " + line;
    line += "  # " + result_name(result) + "\n";
    file_.write(line);
  }

 private:
  // 0 for the first thread that calls, then 1, 2, ...
  int thread_number() {
    const auto [known, inserted] = threads_.try_emplace(::gettid(), next_thread_);
    if (inserted) ++next_thread_;
    return known->second;
  }

  TraceFile file_;
  std::mutex mutex_;
  TraceNames names_;
  std::unordered_map<int, int> threads_;
  int next_thread_ = 0;
};

}  // namespace

std::unique_ptr<CallObserver> open_trace(const std::string& path, const TraceFilter& filter) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    say("cannot write the trace " + path + ": errno " + std::to_string(errno));
    return nullptr;
  }
  const bool lines = path.ends_with(".jsonl");
  const std::string start = lines ? json_trace_start() : "cuvmm-program 1\ninit()\n";
  if (const int error = raw_write(fd, start); error != 0) {
    say("cannot write the trace " + path + ": errno " + std::to_string(error));
    ::close(fd);
    return nullptr;
  }
  if (lines) return json_trace(TraceFile(fd, path), filter);
  return std::make_unique<Trace>(fd, path);
}

}  // namespace cuvmm::shim
