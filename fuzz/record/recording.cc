// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/recording.h"

#include <algorithm>
#include <cstring>

namespace cuvmm::fuzz {

namespace {

constexpr std::string_view kRecordingMagic =
    "cuvmm-fuzz-recording ";  // then the version and a line's end
constexpr char kVersion = '2';
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kAnswerBytes = 7;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values off the front; fails for good once there are too few bytes.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  bool has(std::size_t n) const { return n <= rest_.size(); }
  std::string_view take(std::size_t n) {
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(std::min(n, rest_.size()));
    return out;
  }
  template <class T>
  T get() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::string recording_header(const RecordedMachine& machine) {
  std::string out(kRecordingMagic);
  out += kVersion;
  out += '\n';
  std::string name = machine.gpu.substr(0, kNameBytes);
  name.resize(kNameBytes);
  out += name;
  put(out, std::int32_t{machine.driver_version});
  put(out, std::int32_t{machine.devices});
  put(out, machine.seed);
  put(out, std::int32_t{machine.processes});
  return out;
}

std::string answer_text(const RecordedAnswer& answer) {
  switch (answer.how) {
    case RecordedAnswer::How::kNotRun:
      return "not run";
    case RecordedAnswer::How::kLeftOut:
      return "left out";
    case RecordedAnswer::How::kDied:
      return "its end";
    case RecordedAnswer::How::kDone:
      break;
  }
  return result_name(answer.result) + (answer.value ? " =" + std::to_string(answer.value) : "");
}

std::string recorded_bytes(const RecordedProgram& program) {
  std::string out;
  put(out, static_cast<std::uint16_t>(program.ops.size()));
  for (const Op& op : program.ops) out.append(reinterpret_cast<const char*>(&op), sizeof op);
  for (const RecordedAnswer& answer : program.answers) {
    put(out, static_cast<std::uint8_t>(answer.how));
    put(out, static_cast<std::uint16_t>(answer.result));
    put(out, answer.value);
  }
  return out;
}

Recording parse_recording(std::string_view bytes) {
  Recording out;
  Cursor cursor(bytes);
  const bool magic = cursor.take(kRecordingMagic.size()) == kRecordingMagic;
  const std::string_view version = cursor.take(2);
  if (!magic || (version != "1\n" && version != "2\n")) {
    out.error = "no recording: expected the line '" + std::string(kRecordingMagic) + "1' or 2";
    return out;
  }
  const std::string_view name = cursor.take(kNameBytes);
  out.machine.gpu = std::string(name.substr(0, name.find('\0')));
  out.machine.driver_version = cursor.get<std::int32_t>();
  out.machine.devices = cursor.get<std::int32_t>();
  out.machine.seed = cursor.get<std::uint64_t>();
  if (version[0] != '1') out.machine.processes = cursor.get<std::int32_t>();
  while (cursor.has(sizeof(std::uint16_t))) {
    const std::size_t count = cursor.get<std::uint16_t>();
    if (!cursor.has(count * (sizeof(Op) + kAnswerBytes))) break;
    RecordedProgram program;
    for (std::size_t i = 0; i < count; ++i) {
      program.ops.push_back(cursor.get<Op>());
      canonicalise(program.ops.back());
    }
    for (std::size_t i = 0; i < count; ++i) {
      RecordedAnswer answer;
      answer.how = static_cast<RecordedAnswer::How>(cursor.get<std::uint8_t>() & 3);
      answer.result = static_cast<CUresult>(cursor.get<std::uint16_t>());
      answer.value = cursor.get<std::uint32_t>();
      program.answers.push_back(answer);
    }
    out.programs.push_back(std::move(program));
  }
  return out;
}

}  // namespace cuvmm::fuzz
