// SPDX-License-Identifier: Apache-2.0
// Programs and what a driver answered to them, as one compact file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/machine/machine.h"
#include "fuzz/record/programs.h"

namespace cuvmm::fuzz {

/// What is known of the machine that answered.
struct RecordedMachine {
  std::string gpu;
  int driver_version = 0;  ///< as cuDriverGetVersion writes it
  int devices = 0;
  std::uint64_t seed = 0;
  int processes = 1;  ///< of its programs, at most
};

/// An op's answer as stored: 7 bytes.
struct RecordedAnswer {
  enum class How : std::uint8_t { kNotRun, kDone, kLeftOut, kDied };
  How how = How::kNotRun;
  CUresult result = CUDA_SUCCESS;
  std::uint32_t value = 0;
};

/// "CUDA_SUCCESS =3", "left out", "its end", "not run".
std::string answer_text(const RecordedAnswer& answer);

struct RecordedProgram {
  Ops ops;
  std::vector<RecordedAnswer> answers;  ///< one per op
};

AnswerWord word_of(const RecordedAnswer& answer);
RecordedAnswer answer_of(const AnswerWord& word);

/// The bytes that the file begins with, and those of one program.
std::string recording_header(const RecordedMachine& machine);
std::string recorded_bytes(const RecordedProgram& program);

struct Recording {
  RecordedMachine machine;
  std::vector<RecordedProgram> programs;
  std::string error;  ///< empty on success; a cut last program is left out in silence
  // Of an abridged recording: its programs' answers are NotRun but for those that are stored.
  std::vector<Abridged> abridged;
  std::vector<std::uint32_t> digests;
  unsigned group = 1;
};
/// Any bytes are read without harm. Version 1 of the format said nothing of processes: one. Of an
/// abridged recording, which is version 4, only each `every`th group of programs is kept; of a full
/// one each such program.
Recording parse_recording(std::string_view bytes, std::size_t every = 1);
/// The abridged file of a full recording, by what a comparison with an emulator found of it.
std::string abridged_recording(const Recording& full, std::vector<Abridged> abridged,
                               std::vector<std::uint32_t> digests, unsigned group);

}  // namespace cuvmm::fuzz
