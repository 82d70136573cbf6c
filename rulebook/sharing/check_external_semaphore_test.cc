// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_external_semaphore_test {
namespace {

constexpr unsigned kBinary = 1, kTimeline = 9;
CUexternalSemaphore semaphore_out;

CUexternalSemaphore object(std::uint64_t value) {
  return reinterpret_cast<CUexternalSemaphore>(value);
}
CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC import_desc(unsigned type = kBinary, int fd = 7) {
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
  desc.type = static_cast<CUexternalSemaphoreHandleType>(type);
  desc.handle.fd = fd;
  return desc;
}
Violations import(World& w, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC& desc,
                  Facts::Answer valid = Facts::Answer::kYes,
                  CUexternalSemaphore* out = &semaphore_out) {
  Facts facts;
  facts.sharing.descriptor_valid = valid;
  return check(w.model, calls::ImportExternalSemaphore{out, &desc}, facts);
}
CUexternalSemaphore imported(World& w, unsigned type = kBinary) {
  CUexternalSemaphore out = object(0x6000);
  const auto desc = import_desc(type);
  w.accept(calls::ImportExternalSemaphore{&out, &desc});
  return out;
}
void destroyed(World& w, CUexternalSemaphore semaphore) {
  w.accept(calls::DestroyExternalSemaphore{.extSem = semaphore});
}

CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal_params(std::uint64_t value = 1) {
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params{};
  params.params.fence.value = value;
  return params;
}
Violations signal(World& w, CUexternalSemaphore semaphore,
                  const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS& params) {
  return check(w.model, calls::SignalExternalSemaphoresAsync{&semaphore, &params, 1, nullptr});
}
Violations wait(World& w, CUexternalSemaphore semaphore, unsigned flags = 0) {
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params{};
  params.flags = flags;
  return check(w.model, calls::WaitExternalSemaphoresAsync{&semaphore, &params, 1, nullptr});
}
Violations destroy(World& w, CUexternalSemaphore semaphore) {
  return check(w.model, calls::DestroyExternalSemaphore{.extSem = semaphore});
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kSemImportOutNonnull,
       [](World& w, bool broken) {
         return import(w, import_desc(), Facts::Answer::kYes, broken ? nullptr : &semaphore_out);
       }},
      {Rule::kSemImportDescNonnull,
       [](World& w, bool broken) {
         if (!broken) return import(w, import_desc());
         return check(w.model, calls::ImportExternalSemaphore{&semaphore_out, nullptr});
       }},
      {Rule::kSemImportTypeKnown,
       [](World& w, bool broken) { return import(w, import_desc(broken ? 11 : kTimeline)); }},
      {Rule::kSemImportTypeSupported,
       [](World& w, bool broken) { return import(w, import_desc(broken ? 10 : kTimeline)); }},
      {Rule::kSemImportFlagsZero,
       [](World& w, bool broken) {
         auto desc = import_desc();
         desc.flags = broken ? 1 : 0;
         return import(w, desc);
       }},
      {Rule::kSemImportFdValid,
       [](World& w, bool broken) {
         return import(w, import_desc(), broken ? Facts::Answer::kNo : Facts::Answer::kYes);
       }},
      {Rule::kSemImportTimelineFdValid,
       [](World& w, bool broken) {
         return import(w, import_desc(kTimeline),
                       broken ? Facts::Answer::kNo : Facts::Answer::kYes);
       }},
      {Rule::kSemImportFdKind,
       [](World& w, bool broken) {
         Facts facts;
         facts.sharing.descriptor_valid = broken ? Facts::Answer::kNo : Facts::Answer::kYes;
         if (broken) facts.sharing.descriptor_kind = Facts::Answer::kNo;
         const auto desc = import_desc();
         return check(w.model, calls::ImportExternalSemaphore{&semaphore_out, &desc}, facts);
       }},
      {Rule::kSemImportFdOwned,
       [](World& w, bool broken) {
         imported(w);
         return import(w, import_desc(), broken ? Facts::Answer::kNo : Facts::Answer::kYes);
       }},
      {Rule::kSemImportLeak,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         if (!broken) destroyed(w, semaphore);
         return check_exit(w.model, [](const Export&) { return true; });
       }},
      {Rule::kSemSignalArrayNonnull,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         const auto params = signal_params();
         return check(w.model, calls::SignalExternalSemaphoresAsync{broken ? nullptr : &semaphore,
                                                                    &params, 1, nullptr});
       }},
      {Rule::kSemSignalParamsNonnull,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         const auto params = signal_params();
         return check(w.model, calls::SignalExternalSemaphoresAsync{
                                   &semaphore, broken ? nullptr : &params, 1, nullptr});
       }},
      {Rule::kSemSignalNonnull,
       [](World& w, bool broken) {
         return signal(w, broken ? nullptr : imported(w), signal_params());
       }},
      {Rule::kSemSignalValid,
       [](World& w, bool broken) {
         return signal(w, broken ? object(0x1234) : imported(w), signal_params());
       }},
      {Rule::kSemSignalAlive,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         if (broken) destroyed(w, semaphore);
         return signal(w, semaphore, signal_params());
       }},
      {Rule::kSemSignalFlags,
       [](World& w, bool broken) {
         auto params = signal_params();
         params.flags = broken ? 1 : 0;
         return signal(w, imported(w), params);
       }},
      {Rule::kSemSignalIncreases,
       [](World& w, bool broken) {
         const auto semaphore = imported(w, kTimeline);
         const auto first = signal_params(5);
         w.accept(calls::SignalExternalSemaphoresAsync{&semaphore, &first, 1, nullptr});
         return signal(w, semaphore, signal_params(broken ? 5 : 6));
       }},
      {Rule::kSemWaitArrayNonnull,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params{};
         return check(w.model, calls::WaitExternalSemaphoresAsync{broken ? nullptr : &semaphore,
                                                                  &params, 1, nullptr});
       }},
      {Rule::kSemWaitParamsNonnull,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params{};
         return check(w.model, calls::WaitExternalSemaphoresAsync{
                                   &semaphore, broken ? nullptr : &params, 1, nullptr});
       }},
      {Rule::kSemWaitNonnull,
       [](World& w, bool broken) { return wait(w, broken ? nullptr : imported(w)); }},
      {Rule::kSemWaitValid,
       [](World& w, bool broken) { return wait(w, broken ? object(0x1234) : imported(w)); }},
      {Rule::kSemWaitAlive,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         if (broken) destroyed(w, semaphore);
         return wait(w, semaphore);
       }},
      {Rule::kSemWaitFlags,
       [](World& w, bool broken) { return wait(w, imported(w), broken ? 2 : 0); }},
      {Rule::kSemDestroyNonnull,
       [](World& w, bool broken) { return destroy(w, broken ? nullptr : imported(w)); }},
      {Rule::kSemDestroyValid,
       [](World& w, bool broken) { return destroy(w, broken ? object(0x1234) : imported(w)); }},
      {Rule::kSemDestroyOnce,
       [](World& w, bool broken) {
         const auto semaphore = imported(w);
         if (broken) destroyed(w, semaphore);
         return destroy(w, semaphore);
       }},
  };
}
const ListedCases kListed(cases);

TEST(ExternalSemaphore, ABinaryOneHasNoValue) {
  World w;
  const auto semaphore = imported(w, kBinary);
  const auto params = signal_params(5);
  w.accept(calls::SignalExternalSemaphoresAsync{&semaphore, &params, 1, nullptr});
  EXPECT_TRUE(signal(w, semaphore, signal_params(0)).empty());
}

}  // namespace
}  // namespace cuvmm::testing::check_external_semaphore_test
