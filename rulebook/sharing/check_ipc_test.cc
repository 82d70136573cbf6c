// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_ipc_test {
namespace {

constexpr Address kPlain = 0x7100'0000'0000;
constexpr auto kYes = Facts::Answer::kYes;
constexpr auto kNo = Facts::Answer::kNo;
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

Facts no_context() {
  Facts f = facts();
  f.place.context = kNo;
  return f;
}
Facts unexportable() {
  Facts f = facts();
  f.ipc.capable = kNo;
  return f;
}

Violations get_event(World& w, Facts f, bool null_event = false, bool null_out = false) {
  static CUipcEventHandle out;
  return check(w.model,
               calls::IpcGetEventHandle{.pHandle = null_out ? nullptr : &out,
                                        .event = reinterpret_cast<CUevent>(null_event ? 0 : 0x20)},
               f);
}
Violations open_event(World& w, Facts f, bool null_out = false) {
  static CUevent out;
  CUipcEventHandle handle;
  for (int i = 0; i < 64; ++i) handle.reserved[i] = static_cast<char>(i);
  return check(w.model,
               calls::IpcOpenEventHandle{.phEvent = null_out ? nullptr : &out, .handle = handle},
               f);
}

Violations at_exit(World& w) {
  return check_exit(w.model, [](const Export&) { return false; });
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kIpcGetContext,
       [](World& w, bool broken) { return get(w, kPlain, broken ? no_context() : facts()); }},
      {Rule::kIpcGetOutNonnull,
       [](World& w, bool broken) {
         return get(w, kPlain, facts(), broken ? nullptr : &handle_out);
       }},
      {Rule::kIpcGetPointerNonzero,
       [](World& w, bool broken) { return get(w, broken ? 0 : kPlain); }},
      {Rule::kIpcGetNotVmm,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return get(w, broken ? kBase : kPlain, broken ? unexportable() : facts());
       }},
      {Rule::kIpcGetNotOpened,
       [](World& w, bool broken) {
         opened(w);
         return broken ? get(w, kPlain, unexportable()) : get(w);
       }},
      {Rule::kIpcGetNotPool,
       [](World& w, bool broken) {
         CUdeviceptr pointer = kPlain;
         if (broken) {
           w.accept(calls::MemAllocFromPoolAsync{.dptr = &pointer, .bytesize = 64});
         }
         return get(w, kPlain, broken ? unexportable() : facts());
       }},
      {Rule::kIpcGetAlive,
       [](World& w, bool broken) { return get(w, kPlain, broken ? unexportable() : facts()); }},
      {Rule::kIpcGetBase,
       [](World& w, bool broken) { return get(w, broken ? kPlain + 512 : kPlain); }},
      {Rule::kIpcGetBase,  // another device's memory, whose base the driver does not give
       [](World& w, bool broken) {
         CUdeviceptr made = kPlain;
         w.accept(calls::MemAlloc{.dptr = &made, .bytesize = kGranule}, facts());
         Facts elsewhere = facts();
         elsewhere.place.device = 1;
         elsewhere.ipc.base = elsewhere.ipc.size = 0;
         return get(w, broken ? kPlain + 512 : kPlain, elsewhere);
       }},
      {Rule::kIpcOpenContext,
       [](World& w, bool broken) { return open(w, broken ? no_context() : facts()); }},
      {Rule::kIpcOpenOutNonnull,
       [](World& w, bool broken) {
         return open(w, facts(), 1, blob(), broken ? nullptr : &pointer_out);
       }},
      {Rule::kIpcOpenFlagsLazy,
       [](World& w, bool broken) { return open(w, facts(), broken ? 2 : 1); }},
      {Rule::kIpcOpenFlagsOnly,
       [](World& w, bool broken) { return open(w, facts(), broken ? 3 : 1); }},
      {Rule::kIpcOpenOtherProcess,  // the emulator tells the token
       [](World& w, bool broken) { return open(w, facts(broken ? Token::kOwn : Token::kValid)); }},
      {Rule::kIpcOpenOtherProcess,  // the shim knows the exported bytes
       [](World& w, bool broken) {
         exported(w, blob(broken ? 7 : 8));
         return open(w);
       }},
      {Rule::kIpcOpenHandleValid,
       [](World& w, bool broken) {
         return open(w, facts(broken ? Token::kForged : Token::kValid));
       }},
      {Rule::kIpcOpenHandleValid,
       [](World& w, bool broken) {
         return open(w, facts(), 1, broken ? CUipcMemHandle{} : blob());
       }},
      {Rule::kIpcOpenAlive,
       [](World& w, bool broken) {
         return open(w, facts(broken ? Token::kEnded : Token::kValid));
       }},
      {Rule::kIpcOpenExporterAlive,
       [](World& w, bool broken) {
         return open(w, facts(broken ? Token::kExporterEnded : Token::kValid));
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
      {Rule::kIpcCloseContext,
       [](World& w, bool broken) {
         opened(w);
         return close(w, kPlain, broken ? no_context() : facts());
       }},
      {Rule::kIpcCloseOpened,
       [](World& w, bool broken) {
         opened(w);
         return close(w, broken ? kPlain + 4096 : kPlain);
       }},
      {Rule::kIpcCloseOpened,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         opened(w);
         return close(w, broken ? kBase : kPlain);
       }},
      {Rule::kIpcClosePairing,
       [](World& w, bool broken) {
         opened(w);
         opened(w);
         w.accept(calls::IpcCloseMemHandle{.dptr = kPlain});
         if (broken) w.accept(calls::IpcCloseMemHandle{.dptr = kPlain});
         return close(w, kPlain);
       }},
      {Rule::kIpcFreeInstead,
       [](World& w, bool broken) {
         opened(w);
         return check(w.model,
                      calls::MemFree{.dptr = broken ? kPlain : w.plain(kPlain + kGranule)});
       }},
      {Rule::kIpcEventOutNonnull,
       [](World& w, bool broken) { return get_event(w, facts(), false, broken); }},
      {Rule::kIpcEventValid, [](World& w, bool broken) { return get_event(w, facts(), broken); }},
      {Rule::kIpcEventFlags,
       [](World& w, bool broken) {
         Facts f = facts();
         if (broken) f.ipc.event_interprocess = kNo;
         return get_event(w, f);
       }},
      {Rule::kIpcOpenEventContext,
       [](World& w, bool broken) { return open_event(w, broken ? no_context() : facts()); }},
      {Rule::kIpcOpenEventOutNonnull,
       [](World& w, bool broken) { return open_event(w, facts(), broken); }},
      {Rule::kIpcOpenEventOtherProcess,
       [](World& w, bool broken) {
         return open_event(w, facts(broken ? Token::kOwn : Token::kValid));
       }},
      {Rule::kIpcOpenEventValid,
       [](World& w, bool broken) {
         return open_event(w, facts(broken ? Token::kForged : Token::kValid));
       }},
      {Rule::kIpcOpenEventAlive,
       [](World& w, bool broken) {
         return open_event(w, facts(broken ? Token::kEnded : Token::kValid));
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
