// SPDX-License-Identifier: Apache-2.0
// Paths that the dynamic loader takes as they are. The loader splits LD_PRELOAD and LD_LIBRARY_PATH
// at ':' and ' '. There, and in the arguments of dlopen, it replaces $ORIGIN, $LIB and $PLATFORM.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tools/base/temporary_folder.h"
#include "tools/installation/layout.h"

namespace cuvmm::tools {

/// Whether the loader finds what lies at `path`.
bool loader_takes(const std::string& path);

/// A layout that the loader finds: the one given, or the same through links in a temporary folder.
class LoaderPath {
 public:
  explicit LoaderPath(const Layout& layout);

  const Layout& layout() const { return layout_; }
  const std::string& error() const { return error_; }  ///< why there is none; "" on success
  /// Leaves the link for processes that outlive the run.
  void keep();

 private:
  std::filesystem::path folder();  // made when it is asked for; empty where it cannot be
  bool link_root(const std::filesystem::path& root);
  bool make_links();
  void find_preload();

  Layout layout_;
  std::string error_;
  std::unique_ptr<TemporaryFolder> folder_;  // holds the link
};

}  // namespace cuvmm::tools
