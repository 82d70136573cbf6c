// SPDX-License-Identifier: Apache-2.0
// The facts about code that a driver refuses.
#include "shim/refusals/code_facts.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace cuvmm::shim {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr CodeTarget kHopper{0, 90, 13000};

class CodeFacts : public testing::Test {
 protected:
  CodeFacts() { std::filesystem::create_directories(folder_); }
  ~CodeFacts() override { std::filesystem::remove_all(folder_); }
  std::string file(const char* name, std::string_view bytes) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string of_file(const std::string& path, CUresult result) {
    return code_facts({.path = path.c_str()}, kHopper, result);
  }
  static std::string of_image(const std::string& bytes, CUresult result) {
    return code_facts({.image = bytes.data(), .size = bytes.size()}, kHopper, result);
  }
  const std::string folder_ = testing::TempDir() + "code_facts." + std::to_string(::getpid());
};

template <class Value>
void put(std::string& bytes, std::size_t at, Value value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::string cubin(unsigned architecture, unsigned char abi) {
  std::string bytes = "\177ELF";
  put(bytes, 8, abi);
  put(bytes, 18, std::uint16_t{190});
  put(bytes, 48, abi <= 7 ? architecture : architecture << 8);
  return bytes + std::string(64, '\0');
}

struct FatPart {
  std::uint16_t kind;
  std::uint32_t architecture;
};
std::string fat_binary(std::initializer_list<FatPart> parts) {
  constexpr std::size_t kHeader = 16, kPart = 64;
  std::string bytes;
  put(bytes, 0, std::uint32_t{0xba55ed50});
  put(bytes, 6, std::uint16_t{kHeader});
  put(bytes, 8, std::uint64_t{parts.size() * kPart});
  for (const FatPart& part : parts) {
    const std::size_t at = bytes.size();
    bytes.resize(at + kPart);
    put(bytes, at, part.kind);
    put(bytes, at + 4, std::uint32_t{kPart});
    put(bytes, at + 28, part.architecture);
  }
  return bytes;
}

TEST_F(CodeFacts, AFileThatCannotBeRead) {
  EXPECT_EQ(
      of_file("/nonexistent.cubin", CUDA_ERROR_FILE_NOT_FOUND),
      "the file \"/nonexistent.cubin\" cannot be read: No such file or directory. Correct the "
      "path, or make the file before the call");
  EXPECT_THAT(of_file("/nowhere/at/all.ptx", CUDA_ERROR_FILE_NOT_FOUND),
              HasSubstr("; there is no folder \"/nowhere\""));
  EXPECT_THAT(of_file("kernels.ptx.not.here", CUDA_ERROR_FILE_NOT_FOUND),
              HasSubstr("begins in the working directory, \"" +
                        std::filesystem::current_path().string() + "\""));
  EXPECT_THAT(of_file("/dev/null/x.ptx", CUDA_ERROR_FILE_NOT_FOUND), HasSubstr("Not a directory"));
  EXPECT_THAT(of_file(folder_, CUDA_ERROR_INVALID_IMAGE), HasSubstr("is a folder"));
  EXPECT_THAT(of_file(file("empty", ""), CUDA_ERROR_INVALID_IMAGE), HasSubstr("is empty"));
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(of_file(pipe, CUDA_ERROR_INVALID_IMAGE), HasSubstr("is no regular file"))
      << "to open it would wait for a writer";
}

TEST_F(CodeFacts, ACubinOfAnotherArchitecture) {
  for (const unsigned char abi : {7, 8}) {
    EXPECT_THAT(of_image(cubin(80, abi), CUDA_ERROR_NO_BINARY_FOR_GPU),
                StartsWith("the image is a cubin for sm_80, and device 0 is sm_90"));
    EXPECT_EQ(of_image(cubin(90, abi), CUDA_ERROR_NO_BINARY_FOR_GPU), "");
  }
  std::string other = cubin(90, 7);
  put(other, 18, std::uint16_t{62});
  EXPECT_THAT(of_file(file("a.so", other), CUDA_ERROR_INVALID_IMAGE),
              HasSubstr("is an ELF file of another machine"));
}

TEST_F(CodeFacts, AFatBinaryWithoutAPartForTheDevice) {
  EXPECT_THAT(of_image(fat_binary({{2, 80}, {1, 100}}), CUDA_ERROR_NO_BINARY_FOR_GPU),
              HasSubstr("has only a cubin for sm_80, PTX for sm_100, and device 0 is sm_90"));
  EXPECT_EQ(of_image(fat_binary({{2, 80}, {1, 80}}), CUDA_ERROR_NO_BINARY_FOR_GPU), "")
      << "a driver compiles older PTX";
  EXPECT_THAT(of_image(fat_binary({}), CUDA_ERROR_NO_BINARY_FOR_GPU), HasSubstr("without code"));
  std::string cut = fat_binary({{2, 80}});
  cut.resize(40);
  EXPECT_THAT(of_image(cut, CUDA_ERROR_INVALID_IMAGE), HasSubstr("fat binary that is cut"));
}

TEST_F(CodeFacts, Ptx) {
  const std::string newer = "// made by hand\n.version 9.9\n.target sm_90\n.address_size 64\n";
  EXPECT_EQ(of_image(newer, CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
            "the image is PTX of version 9.9, which is newer than the driver (CUDA 13.0): compile "
            "with a CUDA toolkit that is no newer, or install a newer driver");
  EXPECT_EQ(of_image(newer, CUDA_ERROR_NOT_PERMITTED), "") << "nothing is wrong with the text";
  EXPECT_THAT(of_image(".version 8.0\n.target sm_100a, debug\n", CUDA_ERROR_INVALID_PTX),
              StartsWith("the image is PTX for sm_100a, and device 0 is sm_90"));
  EXPECT_THAT(of_image(".version 8.0\n.target sm_80\nrubbish", CUDA_ERROR_INVALID_PTX),
              HasSubstr("CU_JIT_ERROR_LOG_BUFFER"));
}

TEST_F(CodeFacts, WhatIsNoCode) {
  EXPECT_EQ(of_image("hello\nworld", CUDA_ERROR_INVALID_IMAGE),
            "the image is neither PTX, nor a cubin, nor a fat binary: it begins with \"hello\"");
  EXPECT_EQ(code_facts({}, kHopper, CUDA_ERROR_INVALID_VALUE), "the image is NULL");
}

TEST_F(CodeFacts, MemoryThatCannotBeReadIsNotTouched) {
  const long page = ::sysconf(_SC_PAGESIZE);
  void* const two =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(two, MAP_FAILED);
  char* const guarded = static_cast<char*>(two) + page;
  ASSERT_EQ(::mprotect(guarded, page, PROT_NONE), 0);
  std::memcpy(guarded - 3, "\177EL", 3);
  EXPECT_THAT(code_facts({.image = guarded - 3}, kHopper, CUDA_ERROR_INVALID_IMAGE),
              HasSubstr("neither PTX"));
  EXPECT_THAT(code_facts({.image = guarded}, kHopper, CUDA_ERROR_INVALID_IMAGE),
              HasSubstr("no bytes that can be read"));
  ::munmap(two, 2 * page);
}

TEST(NameFacts, NamesThatAreNear) {
  EXPECT_EQ(name_facts("axpyy", "kernel", {"scale", "axpy"}),
            "the code has no kernel \"axpyy\": it has axpy, scale");
  EXPECT_EQ(name_facts("a", "kernel", {"b", "c", "d", "e", "f", "g"}),
            "the code has no kernel \"a\": it has b, c, d, e and 2 more");
  EXPECT_EQ(name_facts("axpy", "kernel", {}),
            "the code has no kernel \"axpy\": it has no kernels at all");
}

TEST(NameFacts, MangledNames) {
  EXPECT_THAT(name_facts("axpy", "kernel", {"scale", "_Z4axpyPfi"}),
              HasSubstr("\"_Z4axpyPfi\", which is axpy(float*, int) in C++"));
  EXPECT_THAT(name_facts("axp", "kernel", {"_Z4axpyPfi"}), Not(HasSubstr("in C++")));
}

TEST(NameFacts, Variables) {
  EXPECT_EQ(name_facts("n", "variable", {"k"}), "the code has no variable \"n\"");
  EXPECT_EQ(name_facts("k", "variable", {"k"}), "the code has no variable \"k\": that is a kernel");
}

}  // namespace
}  // namespace cuvmm::shim
