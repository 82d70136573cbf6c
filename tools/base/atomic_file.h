// SPDX-License-Identifier: Apache-2.0
// Files that are written whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::tools {

/// Writes `text` to a temporary file beside `path` and renames it over `path`. Returns "" or why
/// not; then `path` is as it was. A file that is there already keeps its mode, and its owner where
/// that is allowed; a link is followed, also to a file that is not there yet. Devices and pipes
/// (/dev/stdout) are written to directly.
std::string write_whole(const std::string& path, std::string_view text);

/// Renames `file`, which is whole, to `path`, as write_whole would have written it there. Returns
/// "" or why not; then both are as they were.
std::string replace_by(const std::string& path, const std::string& file);

/// Why a file could not be written at `path`, judged before there is anything to write: the folder
/// is missing or not writable, or `path` is a folder. "" when it could. Makes a file beside it for
/// a moment.
std::string cannot_write(const std::string& path);

}  // namespace cuvmm::tools
