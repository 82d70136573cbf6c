// SPDX-License-Identifier: Apache-2.0
#include "fuzz/objects/maker.h"

#include <string_view>

#include "fuzz/objects/code.h"

namespace cuvmm::fuzz::objects {

namespace {

// Numbers are small, so that calls meet the same objects, and the borders of arrays.
unsigned number_for(std::string_view field, Code code, Random& random) {
  if (field == "a" || field == "b" || field == "g" || field == "child" || field == "e") {
    return random.below(3);
  }
  if (field == "u" || field == "l" || field == "f") return random.below(3);
  if (field == "m" || field == "n") {
    const bool makes =
        code == Code::kAllocNode || code == Code::kGlobal || code == Code::kLibraryGlobal;
    if (makes) return 2 + random.below(kNames - 2);
    return random.below(random.chance(60) ? 6 : kNames);
  }
  if (field == "text") {
    return random.chance(65) ? random.below(3) : random.below(std::size(kTexts));
  }
  if (field == "name") return random.chance(80) ? random.below(2) : random.below(4);
  if (field == "layered" || field == "async") return random.below(2);
  if (field == "value") return random.chance(80) ? random.below(256) : random.below(4097);
  if (field == "size") return random.chance(90) ? 1u << random.below(3) : random.below(5);
  if (field == "bytes") return random.chance(90) ? 64u << random.below(3) : random.below(65);
  if (field == "pitch") return random.chance(85) ? 16 + random.below(16) : random.below(16);
  if (field == "height") return 3 + random.below(3);
  if (field == "at" || field == "from") return random.chance(60) ? 0 : random.below(12);
  const bool shape = code == Code::kArray;
  if (field == "w") return shape ? random.below(17) : 1 + random.below(random.chance(80) ? 8 : 17);
  if (field == "h") return shape ? random.below(5) : 1 + random.below(random.chance(80) ? 2 : 5);
  if (field == "d") return shape ? random.below(4) : 1 + random.below(random.chance(85) ? 1 : 4);
  return random.chance(60) ? 0 : random.below(random.chance(80) ? 3 : 12);  // x, y, z
}

// How often a call comes, in comparison with the others of its area.
unsigned weight(Code code) {
  switch (code) {
    case Code::kArrayEnd:
    case Code::kGraphEnd:
    case Code::kModuleEnd:
    case Code::kLibraryEnd:
    case Code::kClone:
    case Code::kEmptyNode:
      return 1;
    case Code::kFillNode:
    case Code::kLaunch:
    case Code::kRun:
    case Code::kRead:
    case Code::kReadBack:
      return 5;
    default:
      return 3;
  }
}

}  // namespace

Ops make_program(Random& random) {
  bool areas[static_cast<std::size_t>(Area::kCount)] = {};
  areas[static_cast<std::size_t>(Area::kMemory)] = true;
  for (const Area area : {Area::kArrays, Area::kGraphs, Area::kCode}) {
    areas[static_cast<std::size_t>(area)] = random.chance(40);
  }
  areas[random.below(static_cast<std::uint32_t>(Area::kCount))] = true;
  std::vector<Code> codes;
  for (std::size_t i = 0; i < kCodes; ++i) {
    const auto code = static_cast<Code>(i);
    if (!areas[static_cast<std::size_t>(info(code).area)] || random.chance(8)) continue;
    codes.insert(codes.end(), weight(code), code);
  }
  if (codes.empty()) codes.push_back(Code::kFill);
  Ops ops(20 + random.below(60));
  for (Op& op : ops) {
    op.code = codes[random.below(static_cast<std::uint32_t>(codes.size()))];
    const Info& form = info(op.code);
    for (std::size_t i = 0; i < kMostFields && form.fields[i]; ++i) {
      op.values[i] = number_for(form.fields[i], op.code, random);
    }
  }
  return ops;
}

}  // namespace cuvmm::fuzz::objects
