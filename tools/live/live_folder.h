// SPDX-License-Identifier: Apache-2.0
// Where processes show what they hold: one folder of this user.
#pragma once

#include <string>

namespace cuvmm::tools {

/// CUVMM_LIVE where it names one, else a folder that is this user's alone and that does not outlive
/// the machine's run: in XDG_RUNTIME_DIR, /dev/shm or the temporary folder.
std::string live_folder();

/// Makes it where it is not there. Why it cannot be used, or "": it must belong to this user, and
/// nobody else may write in it.
std::string make_live_folder(const std::string& folder);

}  // namespace cuvmm::tools
