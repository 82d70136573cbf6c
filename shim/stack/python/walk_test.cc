// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/walk.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "shim/stack/python/text.h"
#include "shim/stack/python/walk_world.h"

namespace cuvmm::shim {
namespace {

class PythonWalks : public testing::TestWithParam<std::uint32_t> {
 protected:
  PythonWalks() : world(*python_layout(GetParam(), {})) {}
  World world;
};
INSTANTIATE_TEST_SUITE_P(Versions, PythonWalks,
                         testing::Values(0x03090df0u, 0x030a0df0u, 0x030b07f0u, 0x030c01f0u));

TEST_P(PythonWalks, FindsFunctionsFromTheInnermostOne) {
  EXPECT_EQ(world.read(), PythonWalk::End::kNone);
  world.call(world.code("outer", "a.py", 3));
  world.call(world.code("inner", "b.py", 7));
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  ASSERT_EQ(world.walk.count, 2u);
  EXPECT_EQ(world.named(0), "inner b.py:7");
  EXPECT_EQ(world.named(1), "outer a.py:3");
}

TEST_P(PythonWalks, WhatIsNotAsTheLayoutSaysIsOdd) {
  const std::uintptr_t good = world.code("f", "a.py", 1);
  world.call(good);
  world.call(good);
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  const auto& layout = world.python.layout;
  for (const std::uintptr_t wrong : {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{0x10},
                                     ~std::uintptr_t{0xff}, world.block()}) {
    world.put(world.innermost, layout.frame.code, wrong);
    EXPECT_EQ(world.read(), PythonWalk::End::kOdd) << wrong;
    world.put(world.innermost, layout.frame.code, good);
    if (layout.code.bytecode != PythonLayout::kNowhere) {
      world.put(world.innermost, layout.frame.instruction, wrong);
      EXPECT_EQ(world.read(), PythonWalk::End::kOdd) << wrong;
      world.put(world.innermost, layout.frame.instruction, good + layout.code.bytecode);
    }
    const std::uintptr_t name = world.string("f");
    world.put(good, layout.code.name, wrong);
    EXPECT_EQ(world.read(), PythonWalk::End::kOdd) << wrong;
    world.put(good, layout.code.name, name);
    EXPECT_EQ(world.read(), PythonWalk::End::kWhole);
  }
  GuardedMemory memory{};
  EXPECT_EQ(world.walk.read(world.python, memory, nullptr, 0x10), PythonWalk::End::kOdd);
}

TEST_P(PythonWalks, AListThatLeadsIntoItselfEnds) {
  const std::uintptr_t frame = world.call(world.code("f", "a.py", 1));
  world.put(frame, world.python.layout.frame.previous, frame);
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  EXPECT_EQ(world.walk.count, kMaxPythonFrames);
  if (world.python.layout.frame.owner == PythonLayout::kNowhere) return;
  world.put(frame, world.python.layout.frame.owner, PythonLayout::kFirstShim);
  EXPECT_EQ(world.read(), PythonWalk::End::kNone);
}

TEST_P(PythonWalks, AStateOfAnotherThreadHasNoFrames) {
  world.call(world.code("f", "a.py", 1));
  world.put(world.thread, world.python.layout.thread.thread_id, ::pthread_self() + 1);
  EXPECT_EQ(world.read(), PythonWalk::End::kNone);
}

TEST_P(PythonWalks, ACodeObjectAtTheAddressOfAnotherHasAnotherKey) {
  const std::uintptr_t code = world.code("f", "a.py", 1);
  world.call(code);
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  const std::uint64_t key = world.walk.places[0].key;
  EXPECT_EQ(world.read(), PythonWalk::End::kWhole);
  EXPECT_EQ(world.walk.places[0].key, key);
  std::uintptr_t file = 0;
  const auto& layout = world.python.layout;
  std::memcpy(&file, reinterpret_cast<void*>(code + layout.code.filename), sizeof file);
  world.put(file, layout.ascii_size, 'b');
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  EXPECT_NE(world.walk.places[0].key, key);
  EXPECT_EQ(world.named(0), "f b.py:1");
}

// Names and files that differ in one character, of all lengths: each has its own key.
TEST_P(PythonWalks, EachCharacterCounts) {
  const auto& layout = world.python.layout;
  const std::uintptr_t code = world.code("", "a.py", 1);
  world.call(code);
  std::set<std::uint64_t> keys;
  std::size_t names = 0;
  const auto add = [&](const std::string& name) {
    world.put(code, layout.code.name, world.string(name));
    ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
    EXPECT_TRUE(keys.insert(world.walk.places[0].key).second) << name;
    ++names;
  };
  for (std::size_t length = 0; length <= 64; ++length) {
    const std::string plain(length, 'x');
    add(plain);
    for (std::size_t i = 0; i < length; ++i) {
      std::string other = plain;
      other[i] = 'y';
      add(other);
    }
  }
  EXPECT_EQ(keys.size(), names);
  // Of longer names only the end counts.
  add(std::string(100, 'x') + "y");
  world.put(code, layout.code.name, world.string("y" + std::string(100, 'x')));
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  const std::uint64_t key = world.walk.places[0].key;
  world.put(code, layout.code.name, world.string("z" + std::string(100, 'x')));
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  EXPECT_EQ(world.walk.places[0].key, key);
}

TEST(PythonWalk, AShimEndsALoop) {
  World world(*python_layout(0x030c01f0, {}));
  const std::uintptr_t code = world.code("f", "a.py", 1);
  world.call(code, 3);
  world.call(code);
  world.call(code);
  world.call(code, 3);
  world.call(code);
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  ASSERT_EQ(world.walk.count, 3u);
  EXPECT_TRUE(world.walk.places[0].entry);
  EXPECT_FALSE(world.walk.places[1].entry);
  EXPECT_TRUE(world.walk.places[2].entry);
}

// The table of 3.14's `_PyRuntime`, as its header lays it out.
std::vector<std::uint64_t> table_of_314() {
  std::vector<std::uint64_t> words(kDebugOffsetWords);
  std::memcpy(words.data(), "xdebugpy", 8);
  words[1] = 0x030e00f0;
  const auto put = [&](std::size_t at, std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) words[at++] = value;
  };
  put(22, {800, 0, 8, 16, 72, 152, 160, 200, 32});              // the thread's state
  put(31, {88, 8, 0, 56, 80, 74, 64, 0});                       // a frame
  put(39, {216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0});  // a code object
  put(50, {16, 8});                                             // an object
  put(74, {40, 16, 32});                                        // bytes
  put(77, {64, 32, 16, 40});                                    // a string
  return words;
}

TEST(PythonLayouts, Of314IsWhatItsTableSays) {
  const auto layout = python_layout(0x030e00f0, table_of_314());
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->code.version, 92);
  EXPECT_FALSE(layout->code.version_of_process);
  World world(*layout);
  world.call(world.code("outer", "a.py", 3));
  world.call(world.code("inner", "b.py", 7));
  world.call(0, 4);
  world.call(world.code("handler", "c.py", 9));
  ASSERT_EQ(world.read(), PythonWalk::End::kWhole);
  EXPECT_EQ(world.named(0), "handler c.py:9");
  EXPECT_EQ(world.named(1), "inner b.py:7");
  EXPECT_EQ(world.named(2), "outer a.py:3");
}

TEST(PythonLayouts, WhereACodeObjectsVersionLiesIsOnlyKnownBetweenItsNeighbours) {
  auto words = table_of_314();
  words[39 + 7] += 8;
  const auto layout = python_layout(0x030e00f0, words);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->code.version, PythonLayout::kNowhere);
}

TEST(PythonLayouts, ATableThatIsNotOfThatVersionIsNone) {
  EXPECT_FALSE(python_layout(0x030e01f0, table_of_314()));  // another release than the table's
  EXPECT_FALSE(python_layout(0x030d00f0, table_of_314()));
  for (const std::size_t i : {0, 2, 50, 51, 75, 76, 78, 79, 80}) {
    auto words = table_of_314();
    words[i] += 8;
    EXPECT_FALSE(python_layout(0x030e00f0, words)) << i;
  }
  for (std::size_t i = 6; i < 74; ++i) {  // the table of a version in which a section has grown
    auto words = table_of_314();
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), 24);
    EXPECT_FALSE(python_layout(0x030e00f0, words)) << i;
  }
}

TEST(PythonLayouts, UnknownVersionsHaveNone) {
  for (const std::uint32_t version : {0u, 0x030812f0u, 0x030f00f0u, 0x04000000u, 0x030b00a1u}) {
    EXPECT_FALSE(python_layout(version, table_of_314())) << version;
  }
}

TEST(PythonText, CharactersOfAllWidthsAndHostileOnes) {
  World world(*python_layout(0x030c01f0, {}));
  const std::array<std::uint32_t, 7> characters = {'a',     0x1b,   0xe9,    0x6f22,
                                                   0x1f600, 0xdcff, 0x110000};
  const std::uintptr_t at = world.block();
  world.put(at, PythonLayout::kObjectType, kStringType);
  world.put(at, PythonLayout::kStringLength, std::size(characters));
  world.put(at, PythonLayout::kStringState, std::uint32_t{4 << 2 | 1 << 5});
  world.put(at, 56, characters);
  GuardedMemory memory{};
  PythonText text;
  ASSERT_TRUE(text.find(memory, at, kStringType, 40));
  char copy[64];
  ASSERT_TRUE(text.copy(memory, copy, sizeof copy));
  EXPECT_STREQ(copy, "a?é漢😀??");
  ASSERT_TRUE(text.copy(memory, copy, 10));
  EXPECT_STREQ(copy, "...😀??");  // of a string that is too long, only the end is copied
}

}  // namespace
}  // namespace cuvmm::shim
