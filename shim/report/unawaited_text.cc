// SPDX-License-Identifier: Apache-2.0
#include "shim/report/unawaited_text.h"

#include "api/words.h"
#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "rulebook/order/check_work.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

// " (call 5, at fill() at cache.cc:41 (app+0x1234))"
std::string origin_text(const Origin& origin) {
  std::string text;
  if (origin.call != 0) text = "call " + std::to_string(origin.call);
  if (origin.stack != 0) {
    std::vector<Frame> frames = symbolize(origin.stack);
    frames::take_runtime_frames(frames);
    const std::string place = frames::place_text(frames);
    if (!place.empty()) text += (text.empty() ? "at " : ", at ") + place;
  }
  return text.empty() ? text : " (" + text + ")";
}

}  // namespace

std::string unawaited_text(const UnawaitedUse& use) {
  if (!use.taker || !use.work) return {};
  prepare_symbolizer();
  const std::string memory = use.size != 0 ? cuvmm::detail::range(use.base, use.size)
                                           : "the memory at " + hex_text(use.base);
  const std::string work = cuvmm::detail::work_text(*use.work);
  return std::string(use.taker) + origin_text(use.taken) + " takes " + memory +
         " away, and cuvmm saw nothing that orders it behind " + work + origin_text(use.queued) +
         (use.on_stream ? ". Let its stream wait for an event that is recorded behind that work "
                          "(cuStreamWaitEvent)"
                        : ". Wait for that work before (cuStreamSynchronize)");
}

}  // namespace cuvmm::shim
