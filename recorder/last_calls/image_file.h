// SPDX-License-Identifier: Apache-2.0
// The file that an image lies in, which stays when the process is killed.
#pragma once

#include <string>

#include "recorder/last_calls/format.h"

namespace cuvmm::last_calls {

/// Makes the file, for this user alone, and maps it. Null when that is not possible (errno says
/// why), with no file left. The room on the disk is taken here: a full one is no fault later.
Image* map_new_file(const std::string& path) noexcept;

void unmap(Image* image) noexcept;

/// Writes the name of the running program, the time of its start and `driver` into the header.
void describe_process(Header& header, const std::string& driver) noexcept;

}  // namespace cuvmm::last_calls
