// SPDX-License-Identifier: Apache-2.0
#include "tools/report/blame/owner.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <string_view>

#include "frames/interleave.h"
#include "frames/stack_text.h"

namespace cuvmm::tools {

namespace {

// Names of libraries. A file name fits if the name stands before its first '.', or before a '-' and
// the hash that wheels put there ("libcudart-1b2c3d4e.so.13").
constexpr std::string_view kNvidia[] = {
    "libcuda",        "libcudart",       "libcublas",     "libcublasLt",     "libcudnn",
    "libcufft",       "libcufftw",       "libcufile",     "libcurand",       "libcusolver",
    "libcusolverMg",  "libcusparse",     "libcusparseLt", "libcutensor",     "libcutensorMg",
    "libcutensornet", "libcustatevec",   "libcudss",      "libcupti",        "libnccl",
    "libnvrtc",       "libnvJitLink",    "libnvvm",       "libnvjpeg",       "libnvfatbin",
    "libnvshmem",     "libnvshmem_host", "libnvToolsExt", "libnvtx3interop", "libnvinfer",
    "libnvblas",      "libnppc",         "libnppial",     "libnppicc",       "libnppidei",
    "libnppif",       "libnppig",        "libnppim",      "libnppist",       "libnppisu",
    "libnppitc",      "libnpps",         "libcuvmm-shim",
};
// Prefixes of families with many libraries.
constexpr std::string_view kNvidiaFamilies[] = {"libnvidia-", "libcudnn_",   "libnvrtc-builtins",
                                                "libcufile_", "libnvinfer_", "libnvperf_",
                                                "libcudss_",  "libnvshmem_"};
// PyTorch's libraries have a list, because programs in C++ use PyTorch outside of site-packages.
constexpr std::string_view kTorch[] = {
    "libtorch", "libtorch_cpu", "libtorch_cuda",        "libtorch_cuda_linalg", "libtorch_python",
    "libc10",   "libc10_cuda",  "libtorch_global_deps", "libtorch_nvshmem",     "libshm",
};
// C and C++ runtimes. They have a list, because an environment such as conda's brings its own
// copies outside of the system's folders.
constexpr std::string_view kRuntimes[] = {"libc",   "libpthread", "libm",     "libdl",
                                          "librt",  "libstdc++",  "libc++",   "libgomp",
                                          "libomp", "libiomp5",   "libgcc_s", "libffi"};
constexpr std::string_view kSystemFolders[] = {
    "/lib/", "/lib64/", "/lib32/", "/usr/lib/", "/usr/lib64/", "/usr/lib32/", "/usr/libx32/"};
constexpr std::string_view kCudaFolders[] = {"/usr/local/cuda/", "/usr/local/cuda-"};
constexpr std::string_view kHeaderFolders[] = {"/usr/include/", "/usr/lib/gcc/", "/usr/local/cuda/",
                                               "/usr/local/cuda-"};

bool is_among(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_beginning(std::span<const std::string_view> beginnings, std::string_view text) {
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// The position behind the component in the path; npos: the path lacks the component.
std::size_t after_component(std::string_view path, std::string_view component) {
  for (std::size_t at = 0; (at = path.find(component, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + component.size();
    const bool begins = at == 0 || path[at - 1] == '/';
    if (begins && end < path.size() && path[end] == '/') return end + 1;
  }
  return std::string_view::npos;
}

std::size_t after_packages(std::string_view path) {
  return std::min(after_component(path, "site-packages"), after_component(path, "dist-packages"));
}

bool in_packages(std::string_view path) { return after_packages(path) != std::string_view::npos; }

// ".../lib/python3.12/..." or ".../lib64/python3.12/...".
bool in_standard_library(std::string_view path) {
  for (const std::string_view folder : {"lib", "lib64"}) {
    const std::size_t at = after_component(path, folder);
    if (at != std::string_view::npos && path.substr(at).starts_with("python3")) return true;
  }
  return false;
}

// Whether the file lies in a folder that is named by a hash, as in caches of compiled code
// (Triton's).
bool in_hashed_folder(std::string_view path) {
  constexpr std::size_t kHash = 40;
  const std::size_t file = path.rfind('/');
  if (file == std::string_view::npos) return false;
  const std::string_view folder = frames::file_name(path.substr(0, file));
  return folder.size() >= kHash && std::ranges::all_of(folder, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

bool is_generated(std::string_view path) {
  return path.find("/torchinductor_") != std::string_view::npos ||
         (path.ends_with(".so") && in_hashed_folder(path));
}

// "libcudart" of "libcudart.so.13" and of "libcudart-1b2c3d4e.so.13".
std::string_view library_stem(std::string_view file) {
  const std::string_view name = file.substr(0, file.find(".so"));
  const std::size_t hash = name.rfind('-');
  constexpr std::size_t kShortest = 8;
  const bool hashed =
      hash != std::string_view::npos && name.size() - hash > kShortest &&
      name.find_first_not_of("0123456789abcdef", hash + 1) == std::string_view::npos;
  return hashed ? name.substr(0, hash) : name;
}

bool of_nvidia(std::string_view module) {
  const std::string_view file = frames::file_name(module);
  return is_among(kNvidia, library_stem(file)) || has_beginning(kNvidiaFamilies, file) ||
         has_beginning(kCudaFolders, module);
}

bool of_c_library(const frames::Frame& frame) {
  const std::string_view name = library_stem(frames::file_name(frame.module));
  return name == "libc" || name == "libpthread" || name.starts_with("libc-");
}

// Whether the frame is the first function of a thread or process. A library without symbols has no
// name for that function.
bool begins_stack(const frames::Frame& frame) {
  constexpr std::string_view kStarts[] = {"_start", "start_thread", "clone",       "__clone",
                                          "clone3", "__clone3",     "thread_start"};
  return !frame.python() &&
         (is_among(kStarts, frame.function) || frame.function.starts_with("__libc_start_"));
}

Owner owner_of_python(const frames::Frame& frame) {
  const std::string_view file = frame.file;
  if (file.starts_with("<frozen ")) return Owner::kSystem;
  if (file.starts_with("<ipython-input") || file.starts_with("<doctest")) return Owner::kProgram;
  if (file.empty() || file.starts_with('<') || is_generated(file)) return Owner::kNobody;
  if (in_packages(file)) return Owner::kPackage;
  return in_standard_library(file) ? Owner::kSystem : Owner::kProgram;
}

}  // namespace

Owner owner_of(const frames::Frame& frame) {
  if (frame.python()) return owner_of_python(frame);
  const std::string_view module = frame.module;
  if (module.empty() || begins_stack(frame) || is_generated(module)) return Owner::kNobody;
  if (frames::of_interpreter(frame)) return Owner::kSystem;
  if (of_nvidia(module)) return Owner::kNvidia;
  const std::string_view name = library_stem(frames::file_name(module));
  if (in_packages(module) || is_among(kTorch, name)) return Owner::kPackage;
  if (is_among(kRuntimes, name) || has_beginning(kSystemFolders, module) ||
      in_standard_library(module) || module.starts_with("linux-vdso") || module.front() == '[')
    return Owner::kSystem;
  // A function of a header says nothing of its owner, because the compiler puts it into the
  // caller's object; the caller is the next frame.
  const bool header = has_beginning(kHeaderFolders, frame.file) || in_packages(frame.file) ||
                      frame.file.find("/include/c++/") != std::string::npos;
  return header ? Owner::kNobody : Owner::kProgram;
}

bool reaches_start(const std::vector<frames::Frame>& frames) {
  const auto is_native = [](const frames::Frame& frame) { return !frame.python(); };
  const auto last = std::find_if(frames.rbegin(), frames.rend(), is_native);
  if (last == frames.rend()) return false;
  if (begins_stack(*last)) return true;
  if (!last->function.empty()) return false;
  const auto caller = std::find_if(std::next(last), frames.rend(), is_native);
  return of_c_library(*last) || (caller != frames.rend() && of_c_library(*caller));
}

bool python_was_cut(const std::vector<frames::Frame>& frames) {
  constexpr std::size_t kFew = 16;  // the shim records 32 frames, and some of them are not shown
  const auto python = std::ranges::count_if(frames, &frames::Frame::python);
  if (static_cast<std::size_t>(python) < kFew) return false;
  const auto outermost = std::find_if(frames.rbegin(), frames.rend(),
                                      [](const frames::Frame& frame) { return frame.python(); });
  const std::string_view function = outermost->function;
  return !function.ends_with("_bootstrap") && function != "_run_module_as_main";
}

bool is_typed_program(const std::vector<frames::Frame>& frames, std::size_t at) {
  constexpr std::string_view kTyped[] = {"<string>", "<stdin>", "<console>", "<input>"};
  const frames::Frame& frame = frames[at];
  if (!frame.python() || !is_among(kTyped, frame.file) || frame.function != "<module>")
    return false;
  const auto outermost = frames.begin() + static_cast<std::ptrdiff_t>(at);
  if (std::any_of(std::next(outermost), frames.end(), std::mem_fn(&frames::Frame::python)))
    return false;
  // The text of `python -c 'from multiprocessing.spawn import spawn_main; ...'` is Python's, not
  // the user's.
  const auto called = std::find_if(std::make_reverse_iterator(outermost), frames.rend(),
                                   std::mem_fn(&frames::Frame::python));
  return called == frames.rend() ||
         after_component(called->file, "multiprocessing") == std::string_view::npos ||
         !in_standard_library(called->file);
}

bool runs_python(const frames::Frame& frame) {
  return frames::of_interpreter(frame) &&
         (frame.function.empty() || frame.function.starts_with("_PyEval_EvalFrameDefault"));
}

std::string name_of_code(const frames::Frame& frame) {
  const std::string_view path = frame.python() ? frame.file : frame.module;
  if (const std::size_t at = after_packages(path); at != std::string_view::npos) {
    const std::string_view rest = path.substr(at);
    return std::string(rest.substr(0, rest.find('/')));
  }
  if (owner_of(frame) == Owner::kProgram) return frame.file.empty() ? frame.module : frame.file;
  return std::string(frames::file_name(path));
}

}  // namespace cuvmm::tools
