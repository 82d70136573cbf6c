// SPDX-License-Identifier: Apache-2.0
// Writes the packets of a Perfetto trace: tracks and their events.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tools/view/encode/protobuf.h"

namespace cuvmm::tools {

/// One event of a track. PerfettoTrace::add() writes it.
class PerfettoEvent {
 public:
  enum Type { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
  PerfettoEvent(Type type, std::uint64_t track);

  void name(const std::string& name, const char* category);
  void value(std::uint64_t value);
  /// An arrow leads from each event with this number to the next one.
  void flow(std::uint64_t number);
  /// Events with equal words have one colour.
  void correlation(const std::string& words);
  /// Adds a line to the event's arguments. Does nothing if `value` is "".
  void annotate(const char* name, const std::string& value);

 private:
  friend class PerfettoTrace;
  ProtobufMessage message_;
};

class PerfettoTrace {
 public:
  static constexpr std::uint64_t kNone = 0;

  /// Ties the machine's clock since boot to calendar time. Must be the first call.
  void clock(std::uint64_t boot_ns, std::uint64_t unix_ns);

  /// Each makes a track and returns its number.
  std::uint64_t process(const std::string& name, std::int64_t pid);
  std::uint64_t track(const std::string& name, std::uint64_t parent);
  std::uint64_t bytes_counter(const std::string& name, std::uint64_t parent);

  void add(std::uint64_t boot_ns, const PerfettoEvent& event);

  /// Like PerfettoEvent::annotate(), but writes a text that many events have only once.
  void annotate_shared(PerfettoEvent& event, const char* name, const std::string& value);

  std::string bytes() && { return std::move(bytes_); }

 private:
  std::uint64_t describe(ProtobufMessage descriptor);
  std::uint64_t text(const std::string& value);
  void write(const ProtobufMessage& packet);

  std::string bytes_;
  std::uint64_t tracks_ = 0;
  std::unordered_map<std::string, std::uint64_t> texts_;
  ProtobufMessage interned_;
};

}  // namespace cuvmm::tools
