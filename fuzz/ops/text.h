// SPDX-License-Identifier: Apache-2.0
// Writes ops as program text and reads them back. The corpus, the reports and the reproducers are
// text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// The comment of a line, after '#': the expected answer, and the rules that the call breaks.
struct Note {
  std::string text;   ///< "CUDA_SUCCESS =3 !cuMemMap-vacant"; empty for none
  std::string bytes;  ///< the bytes that a read returned, as hexadecimal digits; empty for none
};

/// One program text, header included. `notes` is empty or has one entry per op.
std::string to_text(const Ops& ops, std::span<const Note> notes = {});

struct TextOps {
  Ops ops;
  std::string error;  ///< "LINE: why this statement has no op"; empty on success
};
/// Reads the text of to_text(), and any program of these calls whose numbers ops can hold. Results
/// may have any names; pseudo-calls other than context(), host(), bytes() and close() have no op.
TextOps from_text(std::string_view text);

}  // namespace cuvmm::fuzz
