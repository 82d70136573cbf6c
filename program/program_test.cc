// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <gtest/gtest.h>

#include "program/signature.h"

namespace cuvmm::program {
namespace {

std::vector<std::string> errors_of(std::string_view text) {
  std::vector<std::string> messages;
  for (const ParseError& error : parse_program(text).errors)
    messages.push_back(format_error(error, "f"));
  return messages;
}

TEST(ParseProgram, ReadsAStatement) {
  const ParsedProgram parsed = parse_program(
      "cuvmm-program 1\n\n# a comment\nr0 = cuMemAddressReserve(4M)\n"
      "h0 = cuMemCreate(size=2M, device=0)\n"
      "@p0 @t2 cuMemMap(r0+2M-1, 0x10, h0, offset=2M) # CUDA_ERROR_NOT_SUPPORTED =7 "
      "!cuMemMap-offset-zero why\n");
  ASSERT_TRUE(parsed.errors.empty()) << format_error(parsed.errors[0], "");
  ASSERT_EQ(parsed.program.statements.size(), 3u);
  const Statement& map = parsed.program.statements[2];
  EXPECT_EQ(map.thread, 2);
  EXPECT_EQ(map.line, 6);
  EXPECT_EQ(map.expected, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(map.expected_value, "7");
  EXPECT_EQ(map.breaks, std::vector<std::string>{"cuMemMap-offset-zero"});
  EXPECT_EQ(map.note, "why");
  ASSERT_EQ(map.arguments.size(), 4u);
  EXPECT_EQ(map.arguments[0].value.parts[1].value.number, 2u << 20);
  EXPECT_EQ(map.arguments[0].value.parts[2].key, "-");
  EXPECT_EQ(map.arguments[3].key, "offset");
}

TEST(ParseProgram, ReportsEveryMistakeWithItsPlace) {
  EXPECT_EQ(
      errors_of("init()\nr0 = (4M)\ncuMemRelease(h0\ncuMemRelease(9X)\nx(\n"),
      (std::vector<std::string>{
          "f:2:6: expected a function, found '('", "f:3:16: expected ')' or ',', found end of line",
          "f:4:15: expected the end of the number (suffixes are K, M, G and T), found 'X'",
          "f:5:3: expected a value, found end of line"}));
}

TEST(ParseProgram, ReportsWhatTheGrammarAllowsButTheVocabularyDoesNot) {
  EXPECT_EQ(errors_of("cuMemRelease(h9)")[0],
            "f:1:14: expected a name that an earlier statement binds, found 'h9'");
  EXPECT_EQ(errors_of("cuMemMap(1, 2)")[0], "f:1:1: expected an argument for handle of cuMemMap");
  EXPECT_EQ(
      errors_of("cuMemMap(1, 2, 3, flag=1)")[0],
      "f:1:24: expected a parameter of cuMemMap (ptr, size, offset, handle, flags), found 'flag'");
  EXPECT_EQ(errors_of("cuMemRelease(1, 2)")[0].substr(0, 47),
            "f:1:17: expected no further positional argument");
  EXPECT_EQ(errors_of("cuMulticastCreate(1)")[0],
            "f:1:19: expected a record such as {size=2M}, found '1'");
  EXPECT_EQ(
      errors_of("cuMulticastCreate({length=2M})")[0],
      "f:1:27: expected a field of it (numDevices, size, handleTypes, flags), found 'length'");
  EXPECT_EQ(errors_of("cuIpcOpenMemHandle(\"0g\", 1)")[0],
            "f:1:20: expected up to 64 bytes as hexadecimal digits");
  EXPECT_EQ(errors_of("cuMemSetAccess(1, 2, [device0])")[0],
            "f:1:23: expected LOCATION:ACCESS such as device0:rw, found 'device0'");
  EXPECT_EQ(errors_of("cuMemCreate(2M)").size(), 1u);
  EXPECT_EQ(errors_of("cuMemRelease(1) # CUDA_ERROR_NO_SUCH_THING")[0],
            "f:1:19: expected a result code of cuda.h, found 'CUDA_ERROR_NO_SUCH_THING'");
  EXPECT_EQ(errors_of("cuvmm-program 2")[0], "f:1:15: expected version 1, found '2'");
}

TEST(ParseProgram, AcceptsTheWholeVocabulary) {
  EXPECT_EQ(errors_of(R"(init(context=no)
r = cuMemAddressReserve(size=4M, alignment=2M, addr=0x600000000000, ptr=null)
h = cuMemCreate(2M, host_numa=0, handle_types=posix_fd|fabric|16, usage=tile_pool|0x80, reserved3=1)
k = cuMemCreate(2M, location=99:-1, type=managed, win32_metadata=1, compression=2, rdma=1)
n = cuMemCreate(2M, host)
cuMemCreate(2M, prop=null, flags=1)
g = cuMemGetAllocationGranularity(host_numa_current, option=recommended)
cuMemSetAccess(r, 2M, [device0:rw, host:none, host_numa0:r, location(99, -1):flags(7)], count=1)
cuMemSetAccess(r, 2M, null)
f = cuMemGetAccess(location(0, 0), r)
s = cuMemExportToShareableHandle(h, posix_fd|fabric)
i = cuMemImportFromShareableHandle(s, 9)
d = cuMemGetHandleForAddressRange(r, 2M, dma_buf, flags=1)
q = cuMemRetainAllocationHandle(r + 1)
b = host(64, fill=7)
cuMemcpyDtoH(b+1, r, 63)
cuMemcpyHtoDAsync(r, host(64), 64)
cuMemcpy2D({srcMemoryType=device, srcDevice=r, dstMemoryType=host, dstHost=b, WidthInBytes=4, Height=1})
a = cuPointerGetAttribute(memory_type, r)
v = cuDeviceGetAttribute(virtual_memory_management, 0)
m = cuMemGetInfo()
c = context(0)
cuMemcpyPeer(r, c, r, c, 4)
o = open("/dev/null")
close(o)
bytes(b, 4)
@p1 receive(s)
exit())"),
            std::vector<std::string>{});
}

TEST(ParseProgram, ADeepTextIsAMistakeNotACrash) {
  EXPECT_NE(errors_of("x(" + std::string(100000, '[') + ")")[0].find("nesting"), std::string::npos);
  EXPECT_NE(errors_of("x(" + std::string(100000, 'a') + "(")[0].find("expected"),
            std::string::npos);
}

}  // namespace
}  // namespace cuvmm::program
