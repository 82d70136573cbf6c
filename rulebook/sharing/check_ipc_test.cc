// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_ipc_test {
namespace {

constexpr Address kPlain = 0x7100'0000'0000;
constexpr auto kYes = Facts::Answer::kYes;
using Token = Facts::Token;

CUipcMemHandle blob(char fill = 7) {
  CUipcMemHandle handle;
  for (int i = 0; i < 64; ++i) handle.reserved[i] = static_cast<char>(fill + i);
  return handle;
}

Facts facts(Token token = Token::kValid) {
  Facts f;
  f.place.context = kYes;
  f.place.context_id = 0x10;
  f.place.device = 0;
  f.ipc.capable = kYes;
  f.ipc.base = kPlain;
  f.ipc.size = kGranule;
  f.ipc.event_alive = f.ipc.event_interprocess = kYes;
  f.ipc.token = token;
  return f;
}

CUipcMemHandle handle_out;
CUdeviceptr pointer_out;

Violations get(World& w, Address dptr = kPlain, Facts f = facts(),
               CUipcMemHandle* out = &handle_out) {
  return check(w.model, calls::IpcGetMemHandle{.pHandle = out, .dptr = dptr}, f);
}
Violations open(World& w, Facts f = facts(), unsigned flags = 1, CUipcMemHandle handle = blob(),
                CUdeviceptr* out = &pointer_out) {
  return check(w.model, calls::IpcOpenMemHandle{.pdptr = out, .handle = handle, .Flags = flags}, f);
}
Violations close(World& w, Address dptr, Facts f = facts()) {
  return check(w.model, calls::IpcCloseMemHandle{.dptr = dptr}, f);
}

void exported(World& w, CUipcMemHandle bytes = blob()) {
  w.accept(calls::IpcGetMemHandle{.pHandle = &bytes, .dptr = kPlain}, facts());
}
void opened(World& w, Address at = kPlain, Facts f = facts()) {
  CUdeviceptr pointer = at;
  w.accept(calls::IpcOpenMemHandle{.pdptr = &pointer, .handle = blob(), .Flags = 1}, f);
}

Violations at_exit(World& w) {
  return check_exit(w.model, [](const Export&) { return false; });
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kIpcGetBase,  // another device's memory, whose base the driver does not give
       [](World& w, bool broken) {
         CUdeviceptr made = kPlain;
         w.accept(calls::MemAlloc{.dptr = &made, .bytesize = kGranule}, facts());
         Facts elsewhere = facts();
         elsewhere.place.device = 1;
         elsewhere.ipc.base = elsewhere.ipc.size = 0;
         return get(w, broken ? kPlain + 512 : kPlain, elsewhere);
       }},
      {Rule::kIpcOpenOtherProcess,  // the emulator tells the token
       [](World& w, bool broken) { return open(w, facts(broken ? Token::kOwn : Token::kValid)); }},
      {Rule::kIpcOpenOtherProcess,  // the shim knows the exported bytes
       [](World& w, bool broken) {
         exported(w, blob(broken ? 7 : 8));
         return open(w);
       }},
      {Rule::kIpcOpenReach,
       [](World& w, bool broken) {
         Facts f = facts();
         // Device 0 can access device 1, but device 1 cannot access device 0.
         f.place.device = broken ? 1 : 0;
         f.place.peer_device = broken ? 0 : 1;
         return open(w, f);
       }},
      {Rule::kIpcOpenOneContext,
       [](World& w, bool broken) {
         opened(w);
         Facts f = facts();
         if (broken) f.place.context_id = 0x20;
         return open(w, f);
       }},
      {Rule::kIpcOpenLeak,
       [](World& w, bool broken) {
         opened(w);
         opened(w);
         w.accept(calls::IpcCloseMemHandle{.dptr = kPlain});
         if (!broken) w.accept(calls::IpcCloseMemHandle{.dptr = kPlain});
         return at_exit(w);
       }},
  };
}
const ListedCases kListed(cases);

TEST(IpcCertainty, WhatOnlyTheDriverKnowsIsUncertain) {
  World w;
  w.model.platform().complete = false;
  for (const Violation& v : open(w, facts(Token::kUnknown))) EXPECT_FALSE(v.certain) << v.message;
  for (const Violation& v : close(w, kPlain + 1, Facts{})) EXPECT_FALSE(v.certain) << v.message;
}

TEST(IpcModel, ARefusedCloseCountsNothing) {
  World w;
  opened(w);
  const calls::IpcCloseMemHandle call{.dptr = kPlain};
  w.refuse(call);
  ASSERT_NE(w.model.ipc().open_of(kPlain), nullptr);
  EXPECT_EQ(w.model.ipc().open_of(kPlain)->count, 1u);
}

TEST(IpcModel, AFreedExportIsNoLongerOurs) {
  World w;
  exported(w);
  EXPECT_NE(w.model.ipc().exported(ipc_bytes(blob())), nullptr);
  w.accept(calls::MemFree{.dptr = kPlain});
  EXPECT_EQ(w.model.ipc().exported(ipc_bytes(blob())), nullptr);
}

TEST(IpcModel, AnAddressThatIsOpenedAgainIsNewAfterItsEnd) {
  World w;
  opened(w);
  w.accept(calls::IpcCloseMemHandle{.dptr = kPlain});
  opened(w);
  EXPECT_TRUE(close(w, kPlain).empty());
  w.accept(calls::IpcCloseMemHandle{.dptr = kPlain});
  EXPECT_TRUE(at_exit(w).empty());
}

}  // namespace
}  // namespace cuvmm::testing::check_ipc_test
