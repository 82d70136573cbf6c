// SPDX-License-Identifier: Apache-2.0
#include "tools/run/loader_path.h"

#include <filesystem>

namespace cuvmm::tools {

namespace fs = std::filesystem;

bool loader_takes(const std::string& path) {
  return path.find_first_of(":; \t\n\r\v\f$") == std::string::npos;
}

LoaderPath::LoaderPath(const Layout& layout) : layout_(layout) {
  const fs::path root = fs::path(layout.shim).parent_path();
  const bool taken = loader_takes(root.string());
  if (taken && !layout.links.empty()) return;
  folder_ = std::make_unique<TemporaryFolder>();
  if (!loader_takes(folder_->path())) folder_ = std::make_unique<TemporaryFolder>("/tmp");
  const fs::path folder = folder_->path();
  const fs::path link = folder / "lib";
  std::error_code error;
  if (!taken && !folder.empty()) fs::create_directory_symlink(root, link, error);
  if (!taken && (folder.empty() || error)) {
    error_ = "the loader cannot preload from " + root.string() +
             " (it splits names at ':' and ' ', and expands '$'), and no link to it could be made";
    return;
  }
  if (!taken) {
    const auto through_link = [&](std::string& path) {
      if (!path.empty()) path = (link / fs::path(path).lexically_relative(root)).string();
    };
    for (std::string* path : {&layout_.shim, &layout_.links, &layout_.emulator})
      through_link(*path);
    for (std::string& runtime : layout_.runtimes) through_link(runtime);
  }
  if (!layout_.links.empty()) return;
  const fs::path links = folder / "links";
  if (!folder.empty()) fs::create_directory(links, error);
  for (const char* name : {"libcuda.so", "libcuda.so.1"}) {
    if (!folder.empty() && !error) fs::create_symlink(layout_.shim, links / name, error);
  }
  if (folder.empty() || error) {
    error_ = "no links to " + layout_.shim + " could be made in a temporary folder";
    return;
  }
  layout_.links = links.string();
}

void LoaderPath::keep() {
  if (folder_) folder_->keep();
}

}  // namespace cuvmm::tools
