// SPDX-License-Identifier: Apache-2.0
// Programs and what a driver answered, as one file: the container of fuzz/record/recording.h,
// version 3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/plain/op.h"

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
};

std::string recording_header(const RecordedMachine& machine);
std::string recorded_bytes(const RecordedProgram& program);
/// Any bytes are read without harm.
Recording parse_recording(std::string_view bytes);
/// Whether the file is one of these.
bool is_recording(std::string_view bytes);

}  // namespace cuvmm::fuzz::plain
