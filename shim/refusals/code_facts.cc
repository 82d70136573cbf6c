// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/code_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "frames/cxx_names.h"

namespace cuvmm::shim {

namespace {

/// Bytes that may end anywhere, read a few at a time.
class Source {
 public:
  using Read = std::function<std::size_t(std::uint64_t at, void* to, std::size_t size)>;
  explicit Source(Read read) : read_(std::move(read)) {}

  template <class Value>
  std::optional<Value> at(std::uint64_t where) const {
    Value value{};
    if (read_(where, &value, sizeof value) != sizeof value) return std::nullopt;
    return value;
  }
  /// Up to `most` bytes from the beginning.
  std::string beginning(std::size_t most) const {
    std::string text(most, '\0');
    text.resize(read_(0, text.data(), most));
    return text;
  }

 private:
  Read read_;
};

// The kernel reads the bytes, because an image that a driver refuses may be no memory at all. It
// reads up to the end of a page at a time: the next page may not exist.
std::size_t read_memory(std::uint64_t address, void* to, std::size_t size) {
  constexpr std::uint64_t kPage = 4096;
  std::size_t done = 0;
  while (done < size) {
    const std::uint64_t here = address + done;
    const std::size_t part = std::min<std::size_t>(size - done, kPage - here % kPage);
    const iovec into{static_cast<char*>(to) + done, part};
    const iovec from{reinterpret_cast<void*>(here), part};
    const ssize_t got = ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

// Containers may forbid the system call.
bool can_read_memory() {
  const char probe = 'x';
  char copy = 0;
  return read_memory(reinterpret_cast<std::uintptr_t>(&probe), &copy, 1) == 1;
}

Source memory_source(std::uint64_t base, std::size_t bytes) {
  return Source([=](std::uint64_t at, void* to, std::size_t size) -> std::size_t {
    if (bytes != 0) size = at < bytes ? std::min(size, bytes - at) : 0;
    return read_memory(base + at, to, size);
  });
}

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

// "sm_90" for 90.
std::string architecture_text(int capability) { return "sm_" + std::to_string(capability); }

bool runs_cubin(int architecture, int capability) {
  return architecture / 10 == capability / 10 && architecture % 10 <= capability % 10;
}

std::string device_text(const CodeTarget& target) {
  return "device " + std::to_string(target.device) + " is " + architecture_text(target.capability);
}

std::string wrong_cubin(const std::string& what, int architecture, const CodeTarget& target) {
  if (target.capability == 0 || runs_cubin(architecture, target.capability)) return {};
  return what + " is a cubin for " + architecture_text(architecture) + ", and " +
         device_text(target) + ", which runs cubins of " + std::to_string(target.capability / 10) +
         ".x up to its own: compile with -arch=" + architecture_text(target.capability) +
         ", or add PTX";
}

int cubin_architecture(const Source& source) {
  constexpr std::uint64_t kAbiAt = 8, kFlagsAt = 48;
  constexpr unsigned char kOldAbi = 7;  // up to CUDA 12, the architecture is the lowest byte
  const auto abi = source.at<unsigned char>(kAbiAt);
  const auto flags = source.at<std::uint32_t>(kFlagsAt);
  if (!abi || !flags) return 0;
  return static_cast<int>(*abi <= kOldAbi ? *flags & 0xff : *flags >> 8 & 0xff);
}

std::string cubin_facts(const std::string& what, const Source& source, const CodeTarget& target) {
  constexpr std::uint64_t kMachineAt = 18;
  constexpr std::uint16_t kCudaMachine = 190;
  if (source.at<std::uint16_t>(kMachineAt) != kCudaMachine) {
    return what + " is an ELF file of another machine, no cubin";
  }
  const int architecture = cubin_architecture(source);
  return architecture == 0 ? std::string() : wrong_cubin(what, architecture, target);
}

// Lists the parts of a fat binary if none of them runs on the device.
std::string fat_facts(const std::string& what, const Source& source, const CodeTarget& target) {
  constexpr std::uint64_t kHeaderSizeAt = 6, kSizeAt = 8;
  constexpr std::uint64_t kOwnAt = 4, kPayloadAt = 8, kArchitectureAt = 28, kLeast = 64;
  constexpr std::uint16_t kPtx = 1, kCubin = 2;
  constexpr int kMostParts = 64;
  const auto header = source.at<std::uint16_t>(kHeaderSizeAt);
  const auto size = source.at<std::uint64_t>(kSizeAt);
  if (!header || !size) return what + " is a fat binary that ends inside of its header";
  if (target.capability == 0) return {};
  std::string parts;
  std::uint64_t where = 0;
  for (int i = 0; i < kMostParts && *size >= kLeast && where <= *size - kLeast; ++i) {
    const std::uint64_t entry = *header + where;
    const auto kind = source.at<std::uint16_t>(entry);
    const auto own = source.at<std::uint32_t>(entry + kOwnAt);
    const auto payload = source.at<std::uint64_t>(entry + kPayloadAt);
    const auto of = source.at<std::uint32_t>(entry + kArchitectureAt);
    if (!kind || !own || !payload || !of) {
      return what + " is a fat binary that is cut: its header promises " + std::to_string(*size) +
             " bytes";
    }
    const int architecture = static_cast<int>(*of);
    const bool ptx = *kind == kPtx;
    if (!ptx && *kind != kCubin) return {};
    if (ptx ? architecture <= target.capability : runs_cubin(architecture, target.capability))
      return {};
    parts += (parts.empty() ? "" : ", ") + std::string(ptx ? "PTX" : "a cubin") + " for " +
             architecture_text(architecture);
    if (*own < kLeast || *own > *size - where || *payload > *size - where - *own) return {};
    where += *own + *payload;
  }
  if (parts.empty()) return what + " is a fat binary without code";
  return what + " is a fat binary that has only " + parts + ", and " + device_text(target) +
         ": compile with -arch=" + architecture_text(target.capability) + ", or add older PTX";
}

// The word behind the first `directive` that begins a line.
std::string_view directive_of(std::string_view ptx, std::string_view directive) {
  for (std::size_t at = ptx.find(directive); at != ptx.npos; at = ptx.find(directive, at + 1)) {
    const std::size_t line = ptx.rfind('\n', at) == ptx.npos ? 0 : ptx.rfind('\n', at) + 1;
    if (ptx.substr(line, at - line).find_first_not_of(" \t\r") != ptx.npos) continue;
    std::string_view rest = ptx.substr(at + directive.size());
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
    return rest.substr(0, rest.find_first_of(" \t\r\n,;"));
  }
  return {};
}

std::string ptx_facts(const std::string& what, std::string_view ptx, const CodeTarget& target,
                      CUresult result) {
  const std::string_view version = directive_of(ptx, ".version");
  const std::string_view architecture = directive_of(ptx, ".target");
  int wanted = 0;
  if (architecture.starts_with("sm_")) {
    std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), wanted);
  }
  if (target.capability != 0 && wanted > target.capability) {
    return what + " is PTX for " + std::string(architecture) + ", and " + device_text(target) +
           ": a driver compiles PTX only for its own architecture or a newer device. Compile with "
           "-arch=" +
           architecture_text(target.capability);
  }
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    std::string text =
        what + " is PTX of version " + std::string(version) + ", which is newer than the driver";
    if (target.cuda != 0) {
      text += " (CUDA " + std::to_string(target.cuda / 1000) + "." +
              std::to_string(target.cuda % 1000 / 10) + ")";
    }
    return text + ": compile with a CUDA toolkit that is no newer, or install a newer driver";
  }
  if (result == CUDA_ERROR_INVALID_PTX) {
    return what +
           " is PTX that the driver's compiler does not accept: CU_JIT_ERROR_LOG_BUFFER "
           "gets the compiler's message";
  }
  return {};
}

std::string facts_of(const std::string& what, const Source& source, const CodeTarget& target,
                     CUresult result) {
  constexpr std::uint32_t kWrapper = 0x466243b1, kFat = 0xba55ed50;
  constexpr std::uint64_t kWrapped = 8;
  constexpr std::size_t kMost = 65536;
  const std::string text = source.beginning(kMost);
  if (text.empty()) return what + " has no bytes that can be read";
  std::uint32_t magic = 0;
  std::memcpy(&magic, text.data(), std::min(text.size(), sizeof magic));
  if (magic == kFat) return fat_facts(what, source, target);
  if (magic == kWrapper) {
    const auto data = source.at<std::uint64_t>(kWrapped);
    return data ? fat_facts(what, memory_source(*data, 0), target) : std::string();
  }
  if (text.starts_with("\177ELF")) return cubin_facts(what, source, target);
  const std::string_view ptx = std::string_view(text).substr(0, text.find('\0'));
  if (!directive_of(ptx, ".version").empty()) return ptx_facts(what, ptx, target, result);
  std::string_view start = ptx.substr(0, std::min<std::size_t>(ptx.find('\n'), 24));
  const bool words = !start.empty() && std::ranges::all_of(start, [](unsigned char c) {
    return std::isprint(c) != 0;
  });
  return what + " is neither PTX, nor a cubin, nor a fat binary" +
         (words ? ": it begins with " + in_quotes(start) : std::string());
}

std::string error_text(int error) {
  char buffer[128];
  return ::strerror_r(error, buffer, sizeof buffer);
}

// The deepest folder of the path that does not exist; "" if all exist.
std::string missing_folder(std::string_view path) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder(path.substr(0, slash));
    struct stat status;
    if (::stat(folder.c_str(), &status) != 0 && errno == ENOENT) return folder;
  }
  return {};
}

std::string file_facts(const char* path, const CodeTarget& target, CUresult result) {
  const std::string what = "the file " + in_quotes(path);
  const auto unreadable = [&](int error) {
    std::string text = what + " cannot be read: " + error_text(error);
    if (error == ENOENT) {
      const std::string folder = missing_folder(path);
      if (!folder.empty()) text += "; there is no folder " + in_quotes(folder);
    }
    char here[PATH_MAX];
    if (path[0] != '/' && ::getcwd(here, sizeof here)) {
      text += ". A path without / at its front begins in the working directory, " + in_quotes(here);
    }
    if (error == ENOENT) text += ". Correct the path, or make the file before the call";
    if (error == EACCES) text += ". Give this user the right to read it";
    return text;
  };
  struct stat status;
  if (::stat(path, &status) != 0) return unreadable(errno);
  if (S_ISDIR(status.st_mode)) return what + " is a folder";
  if (!S_ISREG(status.st_mode)) return what + " is no regular file";
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return unreadable(errno);
  const Source source([fd](std::uint64_t at, void* to, std::size_t size) -> std::size_t {
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(at));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  });
  std::string facts =
      status.st_size == 0 ? what + " is empty" : facts_of(what, source, target, result);
  ::close(fd);
  return facts;
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = before + (a[i - 1] != b[j - 1]);
      before = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The function's name without namespaces and parameters: "axpy" of "my::axpy<float>(float*)".
std::string_view plain_name(std::string_view demangled) {
  std::string_view name = demangled.substr(0, demangled.find_first_of("(<"));
  if (const std::size_t colon = name.rfind(':'); colon != name.npos) name.remove_prefix(colon + 1);
  if (const std::size_t space = name.rfind(' '); space != name.npos) name.remove_prefix(space + 1);
  return name;
}

}  // namespace

std::string code_facts(const CodeInput& code, const CodeTarget& target, CUresult result) {
  if (code.path) return file_facts(code.path, target, result);
  if (!code.image) return "the image is NULL";
  if (!can_read_memory()) return {};
  return facts_of("the image",
                  memory_source(reinterpret_cast<std::uintptr_t>(code.image), code.size), target,
                  result);
}

std::size_t read_code(const void* image, std::span<unsigned char> to) {
  return read_memory(reinterpret_cast<std::uintptr_t>(image), to.data(), to.size());
}

std::string name_facts(std::string_view name, std::string_view what,
                       const std::vector<std::string>& kernels) {
  const std::string no_such = "the code has no " + std::string(what) + " " + in_quotes(name);
  if (what != "kernel") {
    const bool is_kernel = std::ranges::find(kernels, name) != kernels.end();
    return no_such + (is_kernel ? ": that is a kernel" : "");
  }
  if (kernels.empty()) return no_such + ": it has no kernels at all";
  for (const std::string& each : kernels) {
    const std::string readable = frames::demangled(each.c_str());
    if (readable == each || plain_name(readable) != plain_name(name)) continue;
    return no_such + ", but " + in_quotes(each) + ", which is " + readable +
           " in C++: ask for that name, or declare the kernel extern \"C\"";
  }
  constexpr std::size_t kMostNamed = 4, kLongest = 256;
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const std::string& each : kernels) {
    const bool inside = each.find(name) != each.npos || name.find(each) != name.npos;
    near.emplace_back(inside ? 1 : distance(name.substr(0, kLongest), each.substr(0, kLongest)),
                      &each);
  }
  std::ranges::stable_sort(near, {}, [](const auto& one) { return one.first; });
  std::string list;
  for (std::size_t i = 0; i < near.size() && i < kMostNamed; ++i) {
    list += (i == 0 ? "" : ", ") + *near[i].second;
  }
  if (near.size() > kMostNamed)
    list += " and " + std::to_string(near.size() - kMostNamed) + " more";
  return no_such + ": it has " + list;
}

}  // namespace cuvmm::shim
