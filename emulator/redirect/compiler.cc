// SPDX-License-Identifier: Apache-2.0
#include "emulator/redirect/compiler.h"

#include "emulator/redirect/code.h"
#include "emulator/redirect/exports.h"
#include "emulator/redirect/system.h"

namespace cuvmm::redirect {

namespace {

struct Pair {
  const char *code, *text;
};
// The functions of a pair have equal parameters.
constexpr Pair kPairs[] = {{"nvrtcGetCUBIN", "nvrtcGetPTX"},
                           {"nvrtcGetCUBINSize", "nvrtcGetPTXSize"}};

}  // namespace

void redirect_compiler(const link_map& object) {
  if (!starts_with(file_name(object.l_name), "libnvrtc.so")) return;
  const Exports exports(object);
  for (const Pair& pair : kPairs) {
    const auto* const code = static_cast<const unsigned char*>(exports.find(pair.code));
    if (!code || !exports.find(pair.text)) return;
    const std::size_t size = exports.size_of(pair.code);
    if (size < kFarJump + branch_mark(code, size)) return;
  }
  CodeWriter writer;
  for (const Pair& pair : kPairs) {
    const auto* const code = static_cast<const unsigned char*>(exports.find(pair.code));
    const std::size_t mark = branch_mark(code, exports.size_of(pair.code));
    writer.write(reinterpret_cast<std::uint64_t>(code) + mark,
                 Piece().far_jump(exports.find(pair.text)));
  }
}

}  // namespace cuvmm::redirect
