// SPDX-License-Identifier: Apache-2.0
// Programs and what a driver answered, as one file: the container of fuzz/record/recording.h,
// version 3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/plain/op.h"
#include "fuzz/record/abridged.h"

namespace cuvmm::fuzz::plain {

struct RecordedMachine {
  std::string gpu;
  std::int32_t driver_version = 0;
  std::int32_t devices = 0;
  std::uint64_t seed = 0;
};
struct RecordedProgram {
  Ops ops;
  std::vector<Answer> answers;  ///< one per op
};
struct Recording {
  RecordedMachine machine;
  std::vector<RecordedProgram> programs;
  std::string error;  ///< empty on success; a cut last program is left out in silence
  // For an abridged recording: answers that are not stored are kNotRun.
  std::vector<Abridged> abridged;
  std::vector<std::uint32_t> digests;
  unsigned group = 1;
};

AnswerWord word_of(const Answer& answer);
Answer answer_of(const AnswerWord& word);

std::string recording_header(const RecordedMachine& machine);
std::string recorded_bytes(const RecordedProgram& program);
/// Reads any bytes without harm. Keeps each `every`th group of programs of an abridged recording,
/// which is version 7, and each `every`th program of a full recording.
Recording parse_recording(std::string_view bytes, std::size_t every = 1);
/// The abridged file of a full recording, by what a comparison with an emulator found of it.
std::string abridged_recording(const Recording& full, std::vector<Abridged> abridged,
                               std::vector<std::uint32_t> digests, unsigned group);

}  // namespace cuvmm::fuzz::plain
