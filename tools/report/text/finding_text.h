// SPDX-License-Identifier: Apache-2.0
// One finding of a report as text, and its fingerprint, which is equal in every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// The finding as `cuvmm run` prints it, without "cuvmm: ": message, call, stack, answer, objects,
/// rule, fix. Several lines.
std::string finding_text(const Json& finding);

/// "cuMemMap(ptr=0x7f..., size=2 MiB)".
std::string call_text(const Json& finding);

/// "grow(Pool&) at pool.cc:12 (libpool.so+0x12f)", without the template arguments of a long name.
std::string frame_text(const Json& frame);

/// The frames of a stack: a list that is a member of a finding or an object.
std::vector<frames::Frame> frames_in(const Json& object, const char* key);

/// The first frame with a source line that is neither in Python's interpreter nor in a CUDA
/// runtime; without such a frame, the first frame outside of CUDA runtimes; else the first frame.
/// Null: `stack` is empty.
const Json* site_of(const Json& stack);

/// The first frame that is a Python function; null: none is.
const Json* python_site_of(const Json& stack);

/// 16 hexadecimal digits that are equal for one mistake at one place, in any run and build: a hash
/// of the rule, the call and the functions of the stack, without lines and offsets.
std::string fingerprint(const Json& finding);

/// The NVTX ranges of a finding or object: "step 3 / layer 12"; "" for none.
std::string ranges_text(const Json& object);

/// The memory in an object that the program's own allocator gave out: "block 12, 64 KiB"; "" for
/// none.
std::string regions_text(const Json& object);

/// A member that is a string; "" if there is no such string.
std::string text_in(const Json& object, const char* key);

/// A member that is a list; an empty list if there is no such list.
const Json& list_in(const Json& object, const char* key);

/// A member that is a count; 0 if there is no such count.
std::uint64_t number_in(const Json& object, const char* key);

/// Replaces control characters by '?', because a terminal would obey them.
std::string harmless(std::string text);

/// Whether the finding is of kind error, undefined or leak.
bool is_mistake(const Json& finding);

}  // namespace cuvmm::tools
