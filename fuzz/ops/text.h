// SPDX-License-Identifier: Apache-2.0
// Ops as the program text, and back: the corpus, the reports and the reproducers are text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// What a line says after '#': the answer that is expected, and the rules that the call breaks.
struct Note {
  std::string text;   ///< "CUDA_SUCCESS =3 !cuMemMap-vacant"; empty for none
  std::string bytes;  ///< what a read returned, as hexadecimal digits; empty for none
};

/// One program text, header included. `notes` is empty or has one entry per op.
std::string to_text(const Ops& ops, std::span<const Note> notes = {});

struct TextOps {
  Ops ops;
  std::string error;  ///< "LINE: why this statement has no op"; empty on success
};
/// Reads what to_text() writes, and any program of the same calls whose numbers ops can hold.
/// Results may have any names; pseudo-calls but context(), host(), bytes() and close() have no op.
TextOps from_text(std::string_view text);

}  // namespace cuvmm::fuzz
