// SPDX-License-Identifier: Apache-2.0
#include "shim/trace/json_trace.h"

#include <time.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "api/driver/driver.h"
#include "api/print.h"
#include "api/visit_call.h"
#include "api/words.h"
#include "shim/findings/finding_members.h"
#include "shim/output/json.h"
#include "shim/trace/trace_names.h"

namespace cuvmm::shim {

namespace {

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class JsonTrace : public CallObserver {
 public:
  JsonTrace(TraceFile file, TraceFilter filter)
      : file_(std::move(file)), filter_(std::move(filter)) {}

  void after(const Call& call, CUresult result, const CallMoment& moment) override {
    const std::lock_guard lock(mutex_);
    // (All objects get names, so that a filter does not change the names.)
    if (result == CUDA_SUCCESS) visit_call<bool>(call, ArgumentNamer{names_});
    std::string statement = call_text(call, &names_), made;
    if (result == CUDA_SUCCESS) made = visit_call<std::string>(call, ResultNamer{names_});
    const char* const function = visit_call<const char*>(
        call, []<class Struct>(const Struct&) { return name(Struct::kEntryPoint); });
    if (!filter_.takes(function, result == CUDA_SUCCESS)) return;
    std::string line = "{";
    add_text(line, "call", function);
    add_number(line, "number", moment.number);
    add_number(line, "thread", static_cast<std::uint64_t>(::gettid()));
    add_number(line, "ns", moment.began);
    add_number(line, "duration_ns", moment.ended - moment.began);
    add_text(line, "result", result_name(result));
    add_arguments(line, argument_texts(call));
    if (!made.empty()) {
      add_text(line, "made", hex_text(names_.last()));
      statement = made + " = " + statement;
    }
    add_text(line, "text", statement);
    file_.write(line + "}\n");
  }

 private:
  std::mutex mutex_;
  TraceFile file_;
  const TraceFilter filter_;
  TraceNames names_;
};

}  // namespace

std::string json_trace_start() {
  std::string line = "{";
  add_number(line, "schema", 1);
  add_number(line, "pid", static_cast<std::uint64_t>(::getpid()));
  add_text(line, "clock", "CLOCK_BOOTTIME");
  add_number(line, "ns", clock_ns(CLOCK_BOOTTIME));
  add_number(line, "unix_ns", clock_ns(CLOCK_REALTIME));
  return line + "}\n";
}

std::unique_ptr<CallObserver> json_trace(TraceFile file, const TraceFilter& filter) {
  return std::make_unique<JsonTrace>(std::move(file), filter);
}

}  // namespace cuvmm::shim
