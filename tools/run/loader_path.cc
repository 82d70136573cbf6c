// SPDX-License-Identifier: Apache-2.0
#include "tools/run/loader_path.h"

#include <dlfcn.h>

#include <filesystem>

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

// Whether the loader of this process finds the libraries whose path has $LIB. This process is tried
// because it uses the system's C library, whose $LIB may be a folder that kLoaderFolders lacks.
bool loader_finds(const Layout& layout) {
  void* const library = dlopen(preload_word(layout, layout.other_libc).c_str(), RTLD_LAZY);
  if (library) dlclose(library);
  return library != nullptr;
}

bool link_preloaded(const Layout& layout, const fs::path& folder) {
  std::error_code error;
  for (const char* name : kLoaderFolders) {
    fs::create_directories(folder / name, error);
    if (error) return false;
    const auto link = [&](const std::string& library) {
      if (!error) fs::create_symlink(library, folder / name / fs::path(library).filename(), error);
    };
    link(layout.shim);
    link(layout.other_libc);
    for (const std::string& runtime : layout.runtimes) link(runtime);
    if (error) return false;
  }
  return true;
}

}  // namespace

bool loader_takes(const std::string& path) {
  return path.find_first_of(":; \t\n\r\v\f$") == std::string::npos;
}

LoaderPath::LoaderPath(const Layout& layout) : layout_(layout) {
  const fs::path root = fs::path(layout.shim).parent_path();
  if (!loader_takes(root.string()) && !link_root(root)) return;
  if (layout_.links.empty() && !make_links()) return;
  find_preload();
}

fs::path LoaderPath::folder() {
  if (!folder_) folder_ = std::make_unique<TemporaryFolder>();
  if (!loader_takes(folder_->path())) folder_ = std::make_unique<TemporaryFolder>("/tmp");
  return folder_->path();
}

bool LoaderPath::link_root(const fs::path& root) {
  const fs::path link = folder() / "lib";
  std::error_code error;
  if (!folder().empty()) fs::create_directory_symlink(root, link, error);
  if (folder().empty() || error) {
    error_ = "the loader cannot preload from " + root.string() +
             " (it splits names at ':' and ' ', and expands '$'), and no link to it could be made";
    return false;
  }
  const auto through_link = [&](std::string& path) {
    if (!path.empty()) path = (link / fs::path(path).lexically_relative(root)).string();
  };
  for (std::string* path :
       {&layout_.shim, &layout_.links, &layout_.emulator, &layout_.preload, &layout_.other_libc})
    through_link(*path);
  for (std::string& runtime : layout_.runtimes) through_link(runtime);
  return true;
}

bool LoaderPath::make_links() {
  const fs::path links = folder() / "links";
  std::error_code error;
  if (!folder().empty()) fs::create_directory(links, error);
  for (const char* name : {"libcuda.so", "libcuda.so.1"}) {
    if (!folder().empty() && !error) fs::create_symlink(layout_.shim, links / name, error);
  }
  if (folder().empty() || error) {
    error_ = "no links to " + layout_.shim + " could be made in a temporary folder";
    return false;
  }
  layout_.links = links.string();
  return true;
}

// Without layout_.preload, programs of other C libraries do not start; all others run as they
// should.
void LoaderPath::find_preload() {
  if (layout_.other_libc.empty()) {
    layout_.preload.clear();
  } else if (layout_.preload.empty() && !folder().empty()) {
    const fs::path made = folder() / "preload";
    if (link_preloaded(layout_, made)) layout_.preload = made.string();
  }
  if (!layout_.preload.empty() && !loader_finds(layout_)) layout_.preload.clear();
}

void LoaderPath::keep() {
  if (folder_) folder_->keep();
}

}  // namespace cuvmm::tools
