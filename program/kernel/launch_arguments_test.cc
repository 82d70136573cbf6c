// SPDX-License-Identifier: Apache-2.0
// The arguments that a driver gets from a launch in a program text. The kernels themselves run in
// conformance/late/kernels.cuvmm and in the programs of fuzz/corpus/flight.
#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "api/driver/mock_driver.h"
#include "program/c/c_source.h"
#include "program/session.h"

namespace cuvmm::program {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::NiceMock;

class LaunchText : public testing::Test {
 protected:
  /// Runs the text, and returns the words that the launch received, packed or not.
  std::vector<std::uint64_t> given(const std::string& text, std::size_t words, bool packed) {
    std::vector<std::uint64_t> out(words);
    EXPECT_CALL(mock_, LaunchKernel(_, 1, 1, 1, 32, 1, 1, 0, _, _, _))
        .WillOnce([&](auto, auto, auto, auto, auto, auto, auto, auto, auto, void** parameters,
                      void** extra) {
          EXPECT_EQ(extra != nullptr, packed);
          EXPECT_EQ(parameters == nullptr, packed);
          if (packed) {
            EXPECT_EQ(extra[0], CU_LAUNCH_PARAM_BUFFER_POINTER);
            EXPECT_EQ(extra[2], CU_LAUNCH_PARAM_BUFFER_SIZE);
            EXPECT_EQ(*static_cast<std::size_t*>(extra[3]), words * sizeof(std::uint64_t));
            EXPECT_EQ(extra[4], CU_LAUNCH_PARAM_END);
            std::memcpy(out.data(), extra[1], words * sizeof(std::uint64_t));
          } else {
            std::memcpy(out.data(), parameters[0], sizeof(std::uint64_t));
            if (words > 1) std::memcpy(&out[1], parameters[1], (words - 1) * sizeof out[1]);
          }
          return CUDA_SUCCESS;
        });
    const ParsedProgram parsed = parse_program(text);
    EXPECT_TRUE(parsed.errors.empty());
    for (const Outcome& outcome : run_here(mock_.driver(), parsed.program)) {
      EXPECT_EQ(outcome_text(outcome), "CUDA_SUCCESS");
    }
    return out;
  }
  NiceMock<MockDriver> mock_;
};

TEST_F(LaunchText, ArgumentsAreWordsAndStructuresOfWords) {
  EXPECT_THAT(
      given("cuLaunchKernel(16, 1, 1, 1, 32, 1, 1, 0, kernelParams=[5, [6, 7, 8+1]])", 4, false),
      ElementsAre(5, 6, 7, 9));
}

TEST_F(LaunchText, APackedBufferHoldsThemOneAfterTheOther) {
  EXPECT_THAT(given("cuLaunchKernel(16, 1, 1, 1, 32, 1, 1, 0, extra=[5, [6, 7], 8])", 4, true),
              ElementsAre(5, 6, 7, 8));
}

TEST_F(LaunchText, AKernelNeedsADriverThatLoadsModules) {
  const ParsedProgram parsed = parse_program("k = kernel(fill)\n");
  EXPECT_EQ(outcome_text(run_here(mock_.driver(), parsed.program).at(0)), "CUDA_ERROR_NOT_FOUND");
}

std::string error_of(const std::string& text) {
  const ParsedProgram parsed = parse_program(text);
  return parsed.errors.empty() ? "" : format_error(parsed.errors.front(), "f");
}

TEST(LaunchTextErrors, NamesAndListsAreChecked) {
  EXPECT_EQ(error_of("k = kernel(9)\n"),
            "f:1:12: expected a kernel: nothing, fill, copy or fill_struct");
  EXPECT_EQ(error_of("cuLaunchKernel(16, 1, 1, 1, 32, 1, 1, 0, kernelParams=3)\n"),
            "f:1:55: expected a list of arguments such as [r0, 1, 64], found '3'");
  EXPECT_EQ(error_of("cuLaunchKernel(16, 1, 1, 1, 32, 1, 1, 0)\n"), "") << "a kernel may need none";
}

TEST(LaunchTextC, HasTheKernelsAndTheArguments) {
  const CSource source =
      write_c(parse_program("k0 = kernel(fill)\n"
                            "cuLaunchKernel(k0, 1, 1, 1, 32, 1, 1, 0, kernelParams=[5, [6, 7]])\n"
                            "cuLaunchKernel(k0, 1, 1, 1, 32, 1, 1, 0, extra=[5, 6])\n")
                  .program,
              "f");
  EXPECT_EQ(source.error, "");
  EXPECT_THAT(source.text, testing::HasSubstr("load_kernel(\"fill\", &function)"));
  EXPECT_THAT(source.text, testing::HasSubstr(".visible .entry fill("));
  EXPECT_THAT(
      source.text,
      testing::HasSubstr(
          "void* kernelParams[] = {&kernelParams_words[0], &kernelParams_words[1], NULL};"));
  EXPECT_THAT(source.text, testing::HasSubstr("size_t extra_size = 2 * sizeof(uint64_t);"));
}

}  // namespace
}  // namespace cuvmm::program
