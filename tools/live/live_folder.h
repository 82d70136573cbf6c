// SPDX-License-Identifier: Apache-2.0
// Finds the folder in which the processes of this user show their objects.
#pragma once

#include <string>

namespace cuvmm::tools {

/// The folder that CUVMM_LIVE names, else a folder of this user alone in XDG_RUNTIME_DIR, /dev/shm
/// or the temporary folder. A restart of the machine empties the first two.
std::string live_folder();

/// Makes the folder where it does not exist. Returns why the folder cannot be used, or "": it must
/// belong to this user, and no other user may write in it.
std::string make_live_folder(const std::string& folder);

}  // namespace cuvmm::tools
