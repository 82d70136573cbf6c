// SPDX-License-Identifier: Apache-2.0
#include "tools/run/executable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tools/run/elf_file.h"

namespace cuvmm::tools {

namespace {

constexpr int kScriptDepth = 4;  // Linux follows a chain of interpreters this far

FoundProgram check(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return {path, missing ? kExitNotFound : kExitNotExecutable, path + ": " + std::strerror(errno)};
  }
  if (S_ISDIR(status.st_mode)) return {path, kExitNotExecutable, path + " is a folder"};
  if (access(path.c_str(), X_OK) != 0) {
    return {path, kExitNotExecutable,
            path + " is not executable: " + std::strerror(errno) + " (chmod +x?)"};
  }
  return {path, 0, ""};
}

// The command line of a `#!` line, split at blanks; empty when the file is no script.
std::vector<std::string> script_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  char start[2] = {};
  if (!file.read(start, 2) || start[0] != '#' || start[1] != '!') return {};
  line.resize(256);
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  std::istringstream words(line.substr(0, line.find('\n')));
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

// The program that `env [options] [NAME=VALUE] program` starts.
std::string after_env(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i][0] != '-' && words[i].find('=') == std::string::npos) return words[i];
  }
  return words[0];
}

ElfFile our_kind() {
  static const ElfFile self = read_elf("/proc/self/exe").value_or(ElfFile{});
  return self;
}

std::string obstacle_of(const std::string& path, const ElfFile& elf) {
  const ElfFile own = our_kind();
  if (elf.bits != own.bits || elf.machine != own.machine) {
    return "it is built for " + machine_name(elf) + ", and cuvmm for " + machine_name(own);
  }
  // A user may start the loader itself, with the program as its argument. The loader has no
  // interpreter, and yet obeys LD_PRELOAD.
  const bool loader = elf.soname.rfind("ld-", 0) == 0;
  if (elf.interpreter.empty() && !loader) {
    return "it is statically linked, and the loader that preloads libraries never runs";
  }
  if (std::filesystem::path(elf.interpreter).filename().string().starts_with("ld-musl-")) {
    return "its loader is " + elf.interpreter + ", and cuvmm's shim needs glibc";
  }
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    const bool other_user = (status.st_mode & S_ISUID) && status.st_uid != getuid();
    const bool other_group =
        (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid();
    if (other_user || other_group) {
      return std::string("its set-") + (other_user ? "user" : "group") +
             "-ID bit makes the loader ignore LD_PRELOAD";
    }
  }
  return "";
}

}  // namespace

FoundProgram find_program(const std::string& name, const std::string& path) {
  if (name.empty()) return {name, kExitNotFound, "the program's name is empty"};
  if (name.find('/') != std::string::npos) return check(name);
  FoundProgram refused{name, kExitNotFound, ""};
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    FoundProgram found = check((folder.empty() ? "." : folder) + "/" + name);
    if (found.error.empty()) return found;
    if (found.exit_code == kExitNotExecutable && refused.error.empty()) refused = found;
  }
  if (!refused.error.empty()) return refused;
  const bool here = check("./" + name).error.empty();
  return {name, kExitNotFound,
          name + ": not found in PATH" + (here ? "; did you mean ./" + name + "?" : "")};
}

Reach inspect_reach(const std::string& program, const std::string& path) {
  std::string file = program;
  for (int depth = 0; depth < kScriptDepth; ++depth) {
    if (const auto elf = read_elf(file)) return {obstacle_of(file, *elf), elf->address_sanitizer};
    const std::vector<std::string> words = script_line(file);
    if (words.empty()) break;
    const bool env = std::filesystem::path(words[0]).filename() == "env";
    const FoundProgram found = find_program(env ? after_env(words) : words[0], path);
    if (!found.error.empty()) break;
    file = found.path;
  }
  return {};  // not a format we know: the kernel decides, and preloading may still reach what it
              // runs
}

}  // namespace cuvmm::tools
