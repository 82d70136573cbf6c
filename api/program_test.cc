#include "api/program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/signature.h"

namespace cuvmm {
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
  EXPECT_NE(errors_of("cuMulticastCreate(1)")[0].find("multicast is not in it"), std::string::npos);
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

// --- parse(print(p)) == p

rc::Gen<std::string> any_name() {
  return rc::gen::map(rc::gen::inRange(0, 50), [](int i) { return "n_" + std::to_string(i); });
}

Value leaf(Value::Kind kind, std::uint64_t number, std::string text) {
  Value value;
  value.kind = kind;
  value.number = number;
  value.text = std::move(text);
  return value;
}

Value any_value(int depth);

std::vector<Argument> any_parts(int depth, bool keys, int least, int most) {
  std::vector<Argument> parts;
  const int count = *rc::gen::inRange(least, most + 1);
  for (int i = 0; i < count; ++i) {
    parts.push_back({keys && *rc::gen::arbitrary<bool>() ? *any_name() : "", any_value(depth)});
  }
  return parts;
}

// What may stand inside a sum: numbers, names, calls.
Value any_term(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 4 : 3)) {
    case 0:
      return leaf(Value::Kind::kNumber, *rc::gen::arbitrary<std::uint64_t>(), "");
    case 1:
      return leaf(Value::Kind::kNumber, std::uint64_t{1} << *rc::gen::inRange(0, 64), "");
    case 2:
      return leaf(Value::Kind::kName, 0, *any_name());
    default: {
      Value call = leaf(Value::Kind::kCall, 0, *any_name());
      call.parts = any_parts(depth - 1, true, 0, 3);
      return call;
    }
  }
}

Value any_sum(int depth) {
  Value sum = leaf(Value::Kind::kSum, 0, "");
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) {
    sum.parts.push_back({*rc::gen::arbitrary<bool>() ? "-" : "", any_term(depth)});
  }
  return count == 1 && sum.parts[0].key.empty() ? sum.parts[0].value : sum;
}

Value any_chain(Value::Kind kind, int depth, int most) {
  Value chain = leaf(kind, 0, "");
  const int count = *rc::gen::inRange(2, most + 1);
  for (int i = 0; i < count; ++i) chain.parts.push_back({"", any_sum(depth)});
  return chain;
}

Value any_value(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 3)) {
    case 0:
      return leaf(Value::Kind::kNull, 0, "");
    case 1:
      return leaf(Value::Kind::kString, 0, "/dev/" + *any_name());
    case 2:
      return any_sum(depth);
    case 3:
      return any_chain(Value::Kind::kAny, depth, 3);
    case 4:
      return any_chain(Value::Kind::kPair, depth, 2);
    case 5: {
      Value list = leaf(Value::Kind::kList, 0, "");
      list.parts = any_parts(depth - 1, false, 0, 3);
      return list;
    }
    default: {
      Value record = leaf(Value::Kind::kRecord, 0, "");
      record.parts = any_parts(depth - 1, true, 0, 3);
      return record;
    }
  }
}

TEST(PrintProgram, ReadsBackTheSame) {
  const bool holds = rc::check("parse(print(p)) == p", [] {
    Program program;
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) {
      Statement statement;
      statement.process = *rc::gen::inRange(0, 3);
      statement.thread = *rc::gen::inRange(0, 3);
      if (*rc::gen::arbitrary<bool>()) statement.result = *any_name();
      statement.function = *any_name();
      statement.arguments = any_parts(3, true, 0, 4);
      if (*rc::gen::arbitrary<bool>()) {
        statement.expected =
            *rc::gen::element(CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_UNKNOWN);
        if (*rc::gen::arbitrary<bool>()) statement.expected_value = "-17";
        for (int k = *rc::gen::inRange(0, 3); k > 0; --k)
          statement.breaks.push_back("cuMemMap-" + *any_name());
      }
      if (*rc::gen::arbitrary<bool>()) statement.note = "a note # with " + *any_name();
      program.statements.push_back(statement);
    }
    const std::string text = print(program);
    Program read;
    std::vector<ParseError> errors;
    std::size_t at = text.find('\n') + 1;
    for (int line = 2; at < text.size(); ++line) {
      const std::size_t end = text.find('\n', at);
      auto statement = parse_statement(std::string_view(text).substr(at, end - at), line, errors);
      RC_ASSERT(statement.has_value());
      read.statements.push_back(*statement);
      at = end + 1;
    }
    RC_ASSERT(errors.empty());
    RC_ASSERT(read == program);
  });
  EXPECT_TRUE(holds);
}

TEST(PrintProgram, AnyBytesAreReadWithoutACrash) {
  EXPECT_TRUE(rc::check("parse terminates", [](const std::string& text) {
    (void)parse_program(text);
    (void)parse_program("f(" + text + ")");
  }));
}

TEST(Functions, HoldNoMulticast) {
  for (const FunctionSignature& function : functions()) {
    EXPECT_FALSE(function.name.starts_with("cuMulticast")) << function.name;
  }
}

}  // namespace
}  // namespace cuvmm
