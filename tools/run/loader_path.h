// SPDX-License-Identifier: Apache-2.0
// Paths that the dynamic loader uses unchanged. The loader splits LD_PRELOAD and LD_LIBRARY_PATH at
// ':' and ' '. In both variables, and in the arguments of dlopen, the loader replaces $ORIGIN, $LIB
// and $PLATFORM.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tools/base/temporary_folder.h"
#include "tools/installation/layout.h"

namespace cuvmm::tools {

/// Whether the loader finds a file at `path`, because `path` has no character that the loader
/// splits at or replaces.
bool loader_takes(const std::string& path);

/// A layout that the loader finds: the given layout, or links to its files in a temporary folder.
class LoaderPath {
 public:
  explicit LoaderPath(const Layout& layout);

  const Layout& layout() const { return layout_; }
  /// Why the loader can find no layout; "" on success.
  const std::string& error() const { return error_; }
  /// Leaves the links in place, because processes that outlive the run still use them.
  void keep();

 private:
  std::filesystem::path folder();  // the first call makes it; empty if that fails
  bool link_root(const std::filesystem::path& root);
  bool make_links();
  void find_preload();

  Layout layout_;
  std::string error_;
  std::unique_ptr<TemporaryFolder> folder_;  // holds the links
};

}  // namespace cuvmm::tools
