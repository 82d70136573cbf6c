// SPDX-License-Identifier: Apache-2.0
// Makes the calls of streams, events, captures and graphs.
#include <algorithm>

#include "fuzz/generate/maker.h"

namespace cuvmm::fuzz {

Code Maker::next_of_capture(const Sketch& now) {
  if (now.streams.empty() || (now.streams.size() < 3 && random_.chance(20))) {
    return Code::kStreamMake;
  }
  if (now.events.empty() && random_.chance(30)) return Code::kEventMake;
  struct Weight {
    Code code;
    unsigned idle, capturing;
  };
  static constexpr Weight kWeights[] = {
      {Code::kCaptureBegin, 30, 4}, {Code::kCaptureEnd, 1, 20}, {Code::kFillOn, 8, 25},
      {Code::kCopyOn, 5, 12},       {Code::kEventMark, 6, 12},  {Code::kStreamJoin, 5, 14},
      {Code::kGraphMake, 18, 1},    {Code::kGraphRun, 18, 1},   {Code::kGraphEnd, 3, 0},
      {Code::kStreamWait, 4, 2},    {Code::kStreamAsk, 3, 2},   {Code::kEventAsk, 3, 2},
      {Code::kEventSync, 3, 2},     {Code::kEventMake, 3, 2},   {Code::kEventEnd, 2, 0},
      {Code::kStreamEnd, 3, 1}};
  const bool capturing = now.capturing();
  unsigned total = 0;
  for (const Weight& w : kWeights) total += capturing ? w.capturing : w.idle;
  unsigned at = random_.below(total);
  for (const Weight& w : kWeights) {
    const unsigned weight = capturing ? w.capturing : w.idle;
    if (at < weight) return w.code;
    at -= weight;
  }
  return Code::kCaptureBegin;
}

// A capture in a mode that forbids them is seldom worth losing for these calls.
bool Maker::loses_capture(Code code, const Sketch& now) {
  if (!now.capturing() || is_capture(code)) return false;
  const bool free = code <= Code::kRangeHandle || code == Code::kIpcGet;
  return !free && random_.chance(85);
}

bool Maker::stream(std::uint8_t& ref, const Op& op, const Sketch& now, int capturing) {
  const int device = now.device[op.actor];
  return any(now.streams, ref, [&](const Sketch::Stream& s) {
    return s.device == device && (capturing < 0 || (s.capture != 0) == (capturing != 0));
  });
}

bool Maker::capture(Op& op, const Sketch& now) {
  const int device = now.device[op.actor];
  const auto here = [&](const auto& object) { return object.device == device; };
  const bool capturing = now.capturing();
  switch (op.code) {
    case Code::kStreamMake:
    case Code::kEventMake:
      op.flags = byte(random_.below(2));
      op.name = now.free_name(shape(op.code).makes, random_.below(256));
      return device >= 0;
    case Code::kStreamEnd:
      return stream(op.ref, op, now, random_.chance(90) ? 0 : -1);
    case Code::kCaptureBegin:
      op.value = byte(random_.below(3));
      return stream(op.ref, op, now, random_.chance(95) ? 0 : -1);
    case Code::kCaptureEnd:
      op.name = now.free_name(NameKind::kGraph, random_.below(256));
      if (random_.chance(10)) return stream(op.ref, op, now, -1);
      // By the thread that began it.
      for (const Sketch::Stream& s : now.streams) {
        if (s.capture && s.origin) op.actor = s.thread;
      }
      return any(now.streams, op.ref, [&](const Sketch::Stream& s) {
        return s.capture && s.origin && s.thread == op.actor;
      });
    case Code::kFillOn:
    case Code::kCopyOn:
      if (!data(op, now, false)) return false;
      op.at2 = op.at;
      op.odd2 = byte(op.odd == 0 ? 1 : 0);
      return stream(op.ref2, op, now, capturing && random_.chance(75) ? 1 : -1);
    case Code::kStreamWait:
    case Code::kStreamAsk:
      return stream(op.ref, op, now, random_.chance(80) ? 0 : -1);
    case Code::kEventEnd:
    case Code::kEventAsk:
    case Code::kEventSync:
      return any(now.events, op.ref, here);
    case Code::kEventMark:
      return any(now.events, op.ref, here) &&
             stream(op.ref2, op, now, capturing && random_.chance(80) ? 1 : -1);
    case Code::kStreamJoin:
      return join(op, now);
    case Code::kGraphMake:
      op.name = now.free_name(NameKind::kExecutable, random_.below(256));
      return any(now.graphs, op.ref, here);
    case Code::kGraphRun:
      return any(now.executables, op.ref, here) && stream(op.ref2, op, now, 0);
    case Code::kGraphEnd:
      return any(now.executables, op.ref, here);
    default:
      return false;
  }
}

// A stream joins the capture of an event, or gives its work back to the capture's first stream.
bool Maker::join(Op& op, const Sketch& now) {
  const int device = now.device[op.actor];
  const auto captured = [&](const Sketch::Event& e) {
    return e.device == device && e.capture && e.capture != Sketch::kOver;
  };
  if (random_.chance(85) && any(now.events, op.ref, captured)) {
    for (const Sketch::Event& event : now.events) {
      if (event.name != op.ref) continue;
      return any(now.streams, op.ref2, [&](const Sketch::Stream& s) {
        return s.device == device && (!s.capture || s.capture == event.capture);
      });
    }
  }
  const auto plain = [&](const Sketch::Event& e) { return e.device == device && !e.capture; };
  return any(now.events, op.ref, plain) && stream(op.ref2, op, now, random_.chance(80) ? 0 : -1);
}

}  // namespace cuvmm::fuzz
