// SPDX-License-Identifier: Apache-2.0
// One finding of a report in words, and what tells it from others in every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/base/json.h"
#include "frames/frame.h"

namespace cuvmm::tools {

/// The finding as `cuvmm run` prints it, without "cuvmm: ": message, call, stack, answer, objects,
/// rule, fix. Several lines.
std::string finding_text(const Json& finding);

/// "cuMemMap(ptr=0x7f..., size=2 MiB)".
std::string call_text(const Json& finding);

/// "grow(Pool&) at pool.cc:12 (libpool.so+0x12f)". Of a long name, the template arguments are
/// left out.
std::string frame_text(const Json& frame);

/// The frames of a stack: a list that is a member of a finding or an object.
std::vector<frames::Frame> frames_in(const Json& object, const char* key);

/// The first frame that has a source line and is not of the Python interpreter itself, or else the
/// first one; null: there is no stack.
const Json* site_of(const Json& stack);

/// The first frame of the program's Python; null: there is none.
const Json* python_site_of(const Json& stack);

/// The same for the same mistake at the same place in any run and build: a hash of the rule, the
/// call and the functions of the stack, 16 hexadecimal digits. Lines and offsets do not count.
std::string fingerprint(const Json& finding);

/// The NVTX ranges of a finding or object: "step 3 / layer 12"; "" for none.
std::string ranges_text(const Json& object);

/// The memory in an object that the program's own allocator gave out: "block 12, 64 KiB"; "" for
/// none.
std::string regions_text(const Json& object);

/// A member that is a string; "" where it is none.
std::string text_in(const Json& object, const char* key);

/// A member that is a list; an empty one where it is none.
const Json& list_in(const Json& object, const char* key);

/// A member that is a count; 0 where it is none.
std::uint64_t number_in(const Json& object, const char* key);

/// Control characters of a report are no commands for a terminal: they become '?'.
std::string harmless(std::string text);

/// Whether it is a mistake: error, undefined or leak.
bool is_mistake(const Json& finding);

}  // namespace cuvmm::tools
