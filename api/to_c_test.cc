#include "api/to_c.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cuvmm {
namespace {
namespace fs = std::filesystem;

CSource converted(const std::string& text) {
  const ParsedProgram parsed = parse_program(text);
  for (const ParseError& error : parsed.errors) ADD_FAILURE() << format_error(error, "program");
  return to_c(parsed.program, "program");
}

/// Compiles the C text without warnings; the folder goes with the object.
class Compiled {
 public:
  explicit Compiled(const std::string& text) {
    char name[] = "/tmp/cuvmm-to-c-XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream(folder_ / "a.c") << text;
    // memfd_create and friends need no library; cuda.h is a system header here.
    const std::string command = "cc -std=c11 -Wall -Wextra -Werror -isystem " CUVMM_CUDA_INCLUDE_DIR
                                " -c " +
                                (folder_ / "a.c").string() + " -o " + (folder_ / "a.o").string() +
                                " 2>" + (folder_ / "log").string();
    ok = std::system(command.c_str()) == 0;
    std::ifstream in(folder_ / "log");
    log.assign(std::istreambuf_iterator<char>(in), {});
  }
  ~Compiled() { fs::remove_all(folder_); }
  /// Links it with the libcuda at `libcuda`, runs it, and returns its exit code; `output` is
  /// stdout.
  int run(const std::string& libcuda, std::string* output) {
    const std::string binary = (folder_ / "a").string();
    if (std::system(
            ("cc " + (folder_ / "a.o").string() + " " + libcuda + " -o " + binary).c_str()) != 0)
      return -1;
    FILE* pipe = popen(
        ("LD_LIBRARY_PATH=" + fs::path(libcuda).parent_path().string() + " " + binary).c_str(),
        "r");
    char buffer[512];
    while (fgets(buffer, sizeof buffer, pipe)) *output += buffer;
    return WEXITSTATUS(pclose(pipe));
  }

  bool ok = false;
  std::string log;

 private:
  fs::path folder_;
};

constexpr const char kWholeVocabulary[] = R"(init()
r = cuMemAddressReserve(4M, alignment=2M, addr=0x600000000000)
h = cuMemCreate(2M, device=0, handle_types=posix_fd, usage=tile_pool, reserved3=1, win32_metadata=1)
cuMemCreate(2M, prop=null)
g = cuMemGetAllocationGranularity(host_numa=0, option=recommended)
cuMemMap(r+2M, g, h, offset=2M)  # CUDA_ERROR_NOT_SUPPORTED !cuMemMap-offset-zero
cuMemSetAccess(r, 2M, [device0:rw, host:none, location(99, -1):flags(7)])
cuMemSetAccess(r, 2M, null)
cuMemGetAccess(host_numa0, r-1)  # CUDA_SUCCESS =3
s = cuMemExportToShareableHandle(h, posix_fd)
i = cuMemImportFromShareableHandle(s, posix_fd)
d = cuMemGetHandleForAddressRange(r, 2M, dma_buf)
q = cuMemRetainAllocationHandle(r + 1)
cuMemGetAllocationPropertiesFromHandle(q)
b = host(64, fill=7)
cuMemcpyDtoH(b+1, r, 63)
cuMemcpyHtoDAsync(r, host(64), 64)
cuMemcpy2D({srcMemoryType=device, srcDevice=r, dstMemoryType=host, dstHost=b, WidthInBytes=4, Height=1})
a = cuPointerGetAttribute(memory_type, r)
cuDeviceGetAttribute(virtual_memory_management, 0)
m = cuMemGetInfo()
c = context(0)
cuCtxSetCurrent(null)
cuMemcpyPeer(r, c, r, c, 4)
o = open("/dev/null")
descriptor(o)
close(o)
f = memfd(4K)
bytes(b, 4)
same(r, q)
difference(r, q)
aligned(r, 2M)
poke(b, 1)
peek(b, 1)
cuMemFree(r)
exit()
)";

TEST(ToC, CompilesWithoutWarnings) {
  const CSource source = converted(kWholeVocabulary);
  ASSERT_EQ(source.error, "");
  const Compiled compiled(source.text);
  EXPECT_TRUE(compiled.ok) << compiled.log << source.text;
}

TEST(ToC, RefusesWhatItCannotSay) {
  EXPECT_EQ(converted("init()\n@p1 init()\n").error,
            "program:2:1: expected a program of one process and one thread, found '@'");
}

TEST(ToC, RunsAgainstTheEmulator) {
  const char* emulator = CUVMM_EMULATOR;
  if (!fs::exists(emulator)) GTEST_SKIP() << "the emulator is not built: " << emulator;
  const std::string program =
      "init()\nr = cuMemAddressReserve(2M)\nh = cuMemCreate(2M, device=0)\ncuMemMap(r, 2M, h)\n"
      "cuMemSetAccess(r, 2M, [device0:rw])\ncuMemsetD8(r, 7, 4)\nb = host(4)\ncuMemcpyDtoH(b, r, "
      "4)\n"
      "bytes(b, 4)  # CUDA_SUCCESS =07070707\nx = cuMemCreate(1, device=0)\ncuMemRelease(x)\n";
  std::string output;
  EXPECT_EQ(Compiled(converted(program).text).run(emulator, &output), 0) << output;
  EXPECT_NE(output.find("9: bytes(b, 4) -> CUDA_SUCCESS =07070707"), std::string::npos) << output;
  EXPECT_NE(output.find("11: cuMemRelease(x) -> not run"), std::string::npos) << output;
  output.clear();
  // A wrong expectation is the program's exit code.
  EXPECT_EQ(Compiled(converted(program + "cuMemUnmap(r, 2M)  # CUDA_ERROR_INVALID_VALUE\n").text)
                .run(emulator, &output),
            1);
  EXPECT_NE(output.find("NOT AS EXPECTED"), std::string::npos) << output;
}

}  // namespace
}  // namespace cuvmm
