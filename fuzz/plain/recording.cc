// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/recording.h"

#include <cstring>

#include "fuzz/plain/generator.h"

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::string_view kMagic = "cuvmm-fuzz-recording 3\n";
constexpr std::string_view kAbridgedMagic = "cuvmm-fuzz-recording 7\n";
constexpr std::uint8_t kGenerator = 1;  // fuzz/plain/generator.h
constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kMachineBytes = kNameBytes + 4 + 4 + 8 + 4;
constexpr std::size_t kAnswerBytes = 7;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& from) {
  T value{};
  if (from.size() < sizeof value) return from = {}, value;
  std::memcpy(&value, from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

std::string machine_bytes(const RecordedMachine& machine) {
  std::string out = machine.gpu.substr(0, kNameBytes);
  out.resize(kNameBytes);
  put(out, machine.driver_version);
  put(out, machine.devices);
  put(out, machine.seed);
  put(out, std::int32_t{1});  // processes
  return out;
}

RecordedMachine machine_of(std::string_view& bytes) {
  RecordedMachine out;
  const std::string_view name = bytes.substr(0, kNameBytes);
  out.gpu = std::string(name.substr(0, name.find('\0')));
  bytes.remove_prefix(kNameBytes);
  out.driver_version = take<std::int32_t>(bytes);
  out.devices = take<std::int32_t>(bytes);
  out.seed = take<std::uint64_t>(bytes);
  take<std::int32_t>(bytes);
  return out;
}

ProgramBytes bytes_of(const Ops& ops) {
  ProgramBytes out(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) std::memcpy(out[i].data(), &ops[i], sizeof(Op));
  return out;
}

ProgramBytes generated(std::uint64_t seed, std::uint64_t number) {
  return bytes_of(generate(seed, number));
}

Recording parse_abridged(std::string_view bytes, std::size_t every) {
  Recording out;
  AbridgedFile file;
  const auto generator = [&](const AbridgedFile& so_far) -> Generator {
    std::string_view header = so_far.header;
    out.machine = machine_of(header);
    if (so_far.generator != kGenerator) return {};
    return generated;
  };
  out.error = read_abridged(bytes, kMachineBytes, every, generator, file);
  if (!out.error.empty()) return out;
  for (std::size_t i = 0; i < file.programs.size(); ++i) {
    RecordedProgram program;
    program.ops.resize(file.programs[i].size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      std::memcpy(static_cast<void*>(&program.ops[op]), file.programs[i][op].data(), sizeof(Op));
    }
    program.answers.resize(program.ops.size());
    for (const Abridged::Known& known : file.abridged[i].known) {
      if (known.op < program.answers.size()) program.answers[known.op] = answer_of(known.answer);
    }
    out.programs.push_back(std::move(program));
  }
  out.abridged = std::move(file.abridged);
  out.digests = std::move(file.digests);
  out.group = file.group;
  return out;
}

}  // namespace

std::string recording_header(const RecordedMachine& machine) {
  return std::string(kMagic) + machine_bytes(machine);
}

AnswerWord word_of(const Answer& answer) {
  return {static_cast<std::uint8_t>(answer.how), answer.result, answer.value};
}

Answer answer_of(const AnswerWord& word) {
  return {static_cast<Answer::How>(word.how & 3), word.result, word.value};
}

std::string abridged_recording(const Recording& full, std::vector<Abridged> abridged,
                               std::vector<std::uint32_t> digests, unsigned group) {
  AbridgedFile file{machine_bytes(full.machine), kGenerator,        group, {}, {},
                    std::move(abridged),         std::move(digests)};
  for (const RecordedProgram& program : full.programs) {
    file.programs.push_back(bytes_of(program.ops));
  }
  file.parts = parts_of(file.programs, full.machine.seed, generated);
  return std::string(kAbridgedMagic) + abridged_bytes(file, generated);
}

std::string recorded_bytes(const RecordedProgram& program) {
  std::string out;
  put(out, static_cast<std::uint16_t>(program.ops.size()));
  for (const Op& op : program.ops) put(out, op);
  for (const Answer& answer : program.answers) {
    put(out, answer.how);
    put(out, answer.result);
    put(out, answer.value);
  }
  return out;
}

Recording parse_recording(std::string_view bytes, std::size_t every) {
  if (bytes.starts_with(kAbridgedMagic)) {
    return parse_abridged(bytes.substr(kAbridgedMagic.size()), every);
  }
  Recording out;
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kNameBytes) {
    out.error = "no recording of plain memory";
    return out;
  }
  bytes.remove_prefix(kMagic.size());
  out.machine = machine_of(bytes);
  std::size_t number = 0;
  while (bytes.size() >= sizeof(std::uint16_t)) {
    const std::size_t count = take<std::uint16_t>(bytes);
    if (bytes.size() < count * (sizeof(Op) + kAnswerBytes)) break;
    RecordedProgram program;
    for (std::size_t i = 0; i < count; ++i) program.ops.push_back(take<Op>(bytes));
    for (std::size_t i = 0; i < count; ++i) {
      Answer answer;
      answer.how = static_cast<Answer::How>(take<std::uint8_t>(bytes) & 3);
      answer.result = take<std::uint16_t>(bytes);
      answer.value = take<std::uint32_t>(bytes);
      program.answers.push_back(answer);
    }
    if (number++ % every == 0) out.programs.push_back(std::move(program));
  }
  return out;
}

}  // namespace cuvmm::fuzz::plain
