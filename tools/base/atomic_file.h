// SPDX-License-Identifier: Apache-2.0
// Files that are written whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::tools {

/// Writes `text` to a temporary file beside `path` and renames it over `path`. Returns "", or the
/// reason of a failure; `path` is then unchanged. The new file takes the mode of the file that it
/// replaces, and its owner if the system allows that. Links are followed, also to a file that does
/// not exist yet. Devices and pipes (/dev/stdout) are written directly.
std::string write_whole(const std::string& path, std::string_view text);

/// Renames the complete file `file` to `path`; the result is as if write_whole() had written it.
/// Returns "", or the reason of a failure; both files are then unchanged.
std::string replace_by(const std::string& path, const std::string& file);

/// The reason why a file cannot be written at `path`: its folder is missing or not writable, or
/// `path` is a folder. "" if it can. Commands call this before their work, whose result would be
/// lost otherwise. Makes a file beside `path` and removes it.
std::string cannot_write(const std::string& path);

}  // namespace cuvmm::tools
