// SPDX-License-Identifier: Apache-2.0
#include "shim/cause/after_end.h"

#include <atomic>
#include <string>
#include <vector>

#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "shim/base/own_stack.h"
#include "shim/output/output.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

std::string text(EntryPoint entry, StackId stack, const Origin& context_end) {
  std::vector<Frame> late = symbolize(stack), end = symbolize(context_end.stack);
  const std::string runtime = frames::take_runtime_frames(late);
  frames::take_runtime_frames(end);
  return (runtime.empty() ? std::string(name(entry)) : runtime) + " in " +
         frames::place_text(late) +
         " came after the end of the driver, which exit() ends before the destructors of static "
         "objects, and answered CUDA_ERROR_DEINITIALIZED. The program had ended a context before, "
         "by call " +
         std::to_string(context_end.call) + " in " + frames::place_text(end) +
         ", and with it the context's memory, streams and events: give them back first, before "
         "main() returns";
}

}  // namespace

void tell_after_end(EntryPoint entry, StackId stack, const Origin& context_end) {
  static std::atomic<bool> noted{false};
  if (context_end.call == 0 || noted.exchange(true)) return;
  prepare_symbolizer();
  const auto work = [&] { say(text(entry, stack, context_end)); };
  if (!findings_stack().run(work, kDescribingPatience)) work();
}

}  // namespace cuvmm::shim
