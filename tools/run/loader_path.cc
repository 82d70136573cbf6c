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
  if (loader_takes(root.string())) return;
  folder_ = std::make_unique<TemporaryFolder>();
  if (!loader_takes(folder_->path())) folder_ = std::make_unique<TemporaryFolder>("/tmp");
  const fs::path link = fs::path(folder_->path()) / "lib";
  std::error_code error;
  if (!folder_->path().empty()) fs::create_directory_symlink(root, link, error);
  if (folder_->path().empty() || error) {
    error_ = "the loader cannot preload from " + root.string() +
             " (it splits names at ':' and ' ', and expands '$'), and no link to it could be made";
    return;
  }
  const auto through_link = [&](const std::string& path) {
    return (link / fs::path(path).lexically_relative(root)).string();
  };
  layout_ = {through_link(layout.shim), through_link(layout.links), through_link(layout.emulator)};
  for (const std::string& runtime : layout.runtimes)
    layout_.runtimes.push_back(through_link(runtime));
}

void LoaderPath::keep() {
  if (folder_) folder_->keep();
}

}  // namespace cuvmm::tools
