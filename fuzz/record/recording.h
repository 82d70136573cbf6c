// SPDX-License-Identifier: Apache-2.0
// Programs and a driver's answers to them, as one compact file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/machine/machine.h"
#include "fuzz/record/programs.h"

namespace cuvmm::fuzz {

/// The machine that answered.
struct RecordedMachine {
  std::string gpu;
  int driver_version = 0;  ///< in cuDriverGetVersion's format
  int devices = 0;
  std::uint64_t seed = 0;
  int processes = 1;  ///< the most processes of its programs
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

/// The bytes with which the file begins, and those of one program.
std::string recording_header(const RecordedMachine& machine);
std::string recorded_bytes(const RecordedProgram& program);

struct Recording {
  RecordedMachine machine;
  std::vector<RecordedProgram> programs;
  std::string
      error;  ///< empty on success; a last program that is cut off is left out without an error
  // For an abridged recording: answers that are not stored are kNotRun.
  std::vector<Abridged> abridged;
  std::vector<std::uint32_t> digests;
  unsigned group = 1;
};
/// Any bytes are safe to read. Version 1 of the format has no number of processes: one. Keeps
/// each `every`th group of programs of an abridged recording (version 6), and each `every`th
/// program of a full recording.
Recording parse_recording(std::string_view bytes, std::size_t every = 1);
/// The abridged file of a full recording, by the result of a comparison with an emulator.
std::string abridged_recording(const Recording& full, std::vector<Abridged> abridged,
                               std::vector<std::uint32_t> digests, unsigned group);

}  // namespace cuvmm::fuzz
