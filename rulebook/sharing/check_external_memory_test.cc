// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_external_memory_test {
namespace {

constexpr std::uint64_t kMemory = 0x5000;
CUexternalMemory memory_out;
CUmipmappedArray mipmap_out;
CUdeviceptr address_out;

CUexternalMemory object(std::uint64_t value) { return reinterpret_cast<CUexternalMemory>(value); }

CUDA_EXTERNAL_MEMORY_HANDLE_DESC import_desc(int fd = 7, std::uint64_t size = 2 * kGranule) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;
  return desc;
}
CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer_desc(std::uint64_t offset = 0,
                                             std::uint64_t size = kGranule) {
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{};
  desc.offset = offset;
  desc.size = size;
  return desc;
}
CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC mipmap_desc() {
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc{};
  desc.numLevels = 1;
  return desc;
}
Facts good_fd(std::uint64_t object_size = 0) {
  Facts facts;
  facts.sharing.descriptor_valid = Facts::Answer::kYes;
  facts.external.object_size = object_size;
  return facts;
}

Violations import(World& w, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc, Facts facts = good_fd(),
                  CUexternalMemory* out = &memory_out) {
  return check(w.model, calls::ImportExternalMemory{.extMem_out = out, .memHandleDesc = &desc},
               facts);
}
/// The violations except the one about a type that Linux lacks.
Violations but_type(const Violations& all) {
  Violations out;
  for (const Violation& v : all) {
    if (v.rule != Rule::kExtImportTypeSupported) out.push_back(v);
  }
  return out;
}
/// A successful import, which hands the descriptor over to the driver.
CUexternalMemory imported(World& w, int fd = 7, std::uint64_t size = 2 * kGranule,
                          std::uint64_t object_size = 0, unsigned type = 1, unsigned flags = 0) {
  CUexternalMemory out = object(kMemory);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = import_desc(fd, size);
  desc.type = static_cast<CUexternalMemoryHandleType>(type);
  desc.flags = flags;
  w.accept(calls::ImportExternalMemory{.extMem_out = &out, .memHandleDesc = &desc},
           good_fd(object_size));
  return out;
}
Violations buffer(World& w, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& desc,
                  CUdeviceptr* out = &address_out) {
  return check(w.model, calls::ExternalMemoryGetMappedBuffer{
                            .devPtr = out, .extMem = memory, .bufferDesc = &desc});
}
void map_buffer(World& w, CUexternalMemory memory, Address base) {
  const CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = buffer_desc();
  CUdeviceptr out = base;
  w.accept(calls::ExternalMemoryGetMappedBuffer{&out, memory, &desc});
}
Violations mipmap(World& w, CUexternalMemory memory,
                  const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC& desc,
                  CUmipmappedArray* out = &mipmap_out) {
  return check(w.model, calls::ExternalMemoryGetMappedMipmappedArray{out, memory, &desc});
}
Violations destroy(World& w, CUexternalMemory memory) {
  return check(w.model, calls::DestroyExternalMemory{.extMem = memory});
}
void destroyed(World& w, CUexternalMemory memory) {
  w.accept(calls::DestroyExternalMemory{.extMem = memory});
}
Violations at_exit(World& w) {
  return check_exit(w.model, [](const Export&) { return true; });
}

std::vector<RuleCase> cases() {
  return {
      // The driver has closed the descriptor, and the program passes it again.
      {Rule::kExtImportFdOwned,
       [](World& w, bool broken) {
         imported(w, 7);
         Facts facts = good_fd();
         if (broken) facts.sharing.descriptor_valid = Facts::Answer::kNo;
         return import(w, import_desc(7), facts);
       }},
      {Rule::kExtImportDedicated,  // the flag, with a type that forbids it
       [](World& w, bool broken) {
         auto desc = import_desc();
         desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF;
         desc.flags = broken ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0;
         return but_type(import(w, desc));
       }},
      {Rule::kExtImportLeak,
       [](World& w, bool broken) {
         const auto memory = imported(w);
         if (!broken) destroyed(w, memory);
         return at_exit(w);
       }},
      {Rule::kExtBufferInsideObject,
       [](World& w, bool broken) {
         return buffer(w, imported(w, 7, 4 * kGranule, kGranule),
                       buffer_desc(0, kGranule + (broken ? 1 : 0)));
       }},
      {Rule::kExtBufferLeak,
       [](World& w, bool broken) {
         const auto memory = imported(w);
         map_buffer(w, memory, kBase);
         destroyed(w, memory);
         if (!broken) w.accept(calls::MemFree{.dptr = kBase});
         return at_exit(w);
       }},
      {Rule::kDataFillDevice,  // a fill of a buffer
       [](World& w, bool broken) {
         Facts facts = good_fd();
         facts.place.device = 1;
         CUexternalMemory memory = object(kMemory);
         const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = import_desc(7, kGranule);
         w.accept(calls::ImportExternalMemory{.extMem_out = &memory, .memHandleDesc = &desc},
                  facts);
         map_buffer(w, memory, kBase);
         facts.place.device = broken ? 0 : 1;
         return check_data(w, calls::MemsetD8{.dstDevice = kBase + 16, .uc = 1, .N = 16}, facts);
       }},
      {Rule::kExtBufferAfterDestroy,
       [](World& w, bool broken) {
         const auto memory = imported(w);
         map_buffer(w, memory, kBase);
         if (broken) destroyed(w, memory);
         return check_data(w, calls::MemsetD8{.dstDevice = kBase + 16, .uc = 1, .N = 16});
       }},
      {Rule::kExtMipmapOutNonnull,
       [](World& w, bool broken) {
         return mipmap(w, imported(w), mipmap_desc(), broken ? nullptr : &mipmap_out);
       }},
      {Rule::kExtMipmapDescNonnull,
       [](World& w, bool broken) {
         const auto desc = mipmap_desc();
         return check(w.model, calls::ExternalMemoryGetMappedMipmappedArray{
                                   &mipmap_out, imported(w), broken ? nullptr : &desc});
       }},
      {Rule::kExtMipmapMemoryNonnull,
       [](World& w, bool broken) {
         return mipmap(w, broken ? nullptr : imported(w), mipmap_desc());
       }},
      {Rule::kExtMipmapMemoryValid,
       [](World& w, bool broken) {
         return mipmap(w, broken ? object(0x1234) : imported(w), mipmap_desc());
       }},
      {Rule::kExtMipmapMemoryAlive,
       [](World& w, bool broken) {
         const auto memory = imported(w);
         if (broken) destroyed(w, memory);
         return mipmap(w, memory, mipmap_desc());
       }},
      {Rule::kExtMipmapLevelsNonzero,
       [](World& w, bool broken) {
         auto desc = mipmap_desc();
         desc.numLevels = broken ? 0 : 2;
         return mipmap(w, imported(w), desc);
       }},
      {Rule::kExtMipmapOffsetInside,
       [](World& w, bool broken) {
         auto desc = mipmap_desc();
         desc.offset = 2 * kGranule - (broken ? 0 : 1);
         return mipmap(w, imported(w), desc);
       }},
      {Rule::kExtMipmapOneLevel,
       [](World& w, bool broken) {
         auto desc = mipmap_desc();
         desc.numLevels = broken ? 2 : 1;
         return mipmap(w, imported(w, 7, kGranule, 0, 8), desc);
       }},
      {Rule::kExtMipmapNotDmaBuf,
       [](World& w, bool broken) {
         return mipmap(w, imported(w, 7, kGranule, 0, broken ? 9 : 1), mipmap_desc());
       }},
  };
}
const ListedCases kListed(cases);

TEST(ExternalMemory, TakesTheDescriptorFromTheExports) {
  World w;
  w.export_fd(w.create(0x100, 1, device_prop(0, 1)), 7);
  w.release(0x100);
  ASSERT_EQ(w.model.exports().size(), 1u);
  destroyed(w, imported(w, 7));
  EXPECT_TRUE(w.model.exports().empty());
  EXPECT_TRUE(at_exit(w).empty());
}

TEST(ExternalMemory, ANumberThatComesBackFromAnExportIsTheProgramsAgain) {
  World w;
  imported(w, 7);
  w.export_fd(w.create(0x100, 1, device_prop(0, 1)), 7);
  EXPECT_TRUE(import(w, import_desc(7)).empty());
}

TEST(ExternalMemory, ADescriptorThatTheDriverHasIsNotClosed) {
  World w;
  imported(w, 7);
  const Violations wrong = check_close(w.model, 7, false);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong.front().rule, Rule::kExtImportFdOwned);
  EXPECT_EQ(wrong.front().message.rfind("close(7): descriptor 7 belongs to the driver", 0), 0u);
  // A later file has the number, or the program never handed it over.
  EXPECT_TRUE(check_close(w.model, 7, true).empty());
  EXPECT_TRUE(check_close(w.model, 8, false).empty());
  w.model.closed(7);
  EXPECT_TRUE(check_close(w.model, 7, false).empty());
}

TEST(ExternalMemory, ADescriptorOfMemoryIsClosedOnce) {
  World w;
  const Handle h = w.create(0x100, 1, device_prop(0, 1));
  w.export_fd(h, 7);
  EXPECT_TRUE(check_close(w.model, 7, true).empty());
  const ClosedDescriptor known{{.call = 2}, {.call = 5}};
  w.model.closed(7, known);
  const Violations wrong = check_close(w.model, 7, false);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong.front().rule, Rule::kExportFdClosedOnce);
  EXPECT_EQ(wrong.front().objects.front().made.call, 2u);
  EXPECT_TRUE(check_close(w.model, 8, false).empty()) << "nothing is known of that one";
  EXPECT_TRUE(check_close(w.model, 7, true).empty()) << "some later file has the number";
  w.model.closed(7);
  EXPECT_TRUE(check_close(w.model, 7, false).empty());
  // Another export gets the number again.
  w.model.closed(7, known);
  w.export_fd(h, 7);
  EXPECT_TRUE(check_close(w.model, 7, false).empty());
}

TEST(ExternalMemory, SoIsOneThatComesBackForAPoolOrARange) {
  World w;
  int fd = 7;
  imported(w, fd);
  ASSERT_EQ(w.model.descriptors().given().count(fd), 1u);
  w.accept(
      calls::MemPoolExportToShareableHandle{.handle_out = &fd,
                                            .handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
      {}, Origin{});
  EXPECT_EQ(w.model.descriptors().given().count(fd), 0u);
  w.export_fd(w.create(0x100, 1, device_prop(0, 1)), fd);
  w.accept(calls::MemGetHandleForAddressRange{.handle = &fd,
                                              .handleType = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD},
           {}, Origin{});
  EXPECT_EQ(w.model.exports().count(fd), 0u);
}

TEST(ExternalMemory, AnOpenDescriptorUnderAGivenNumberIsUncertain) {
  World w;
  w.model.platform().complete = false;
  imported(w, 7);
  Facts unknown;
  const Violations found = import(w, import_desc(7), unknown);
  ASSERT_FALSE(found.empty());
  for (const Violation& v : found) EXPECT_FALSE(v.certain) << v.message;
}

TEST(ExternalMemory, ARefusedDestroyKeepsIt) {
  World w;
  const auto memory = imported(w);
  map_buffer(w, memory, kBase);
  w.refuse(calls::DestroyExternalMemory{memory});
  w.refuse(calls::MemFree{kBase});
  EXPECT_TRUE(destroy(w, memory).empty());
  EXPECT_FALSE(w.model.external().buffers().at(kBase).memory_ended);
}

TEST(ExternalMemory, AHandleThatTheDriverGivesOutAgainIsAlive) {
  World w;
  destroyed(w, imported(w));
  const auto memory = imported(w, 8);
  EXPECT_TRUE(destroy(w, memory).empty());
}

TEST(ExternalMemory, AnUnknownMemoryIsUncertain) {
  World w;
  w.model.platform().complete = false;
  const Violations found = destroy(w, object(0x1234));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].certain);
}

}  // namespace
// A range may end at 2^64, where base + size is 0.
TEST(External, ABufferAtTheEndOfTheAddressesReplacesWhatEndedUnseen) {
  World w;
  const CUexternalMemory memory = imported(w);
  const auto put = [&](Address base, std::uint64_t size) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{};
    desc.size = size;
    CUdeviceptr out = base;
    w.accept(calls::ExternalMemoryGetMappedBuffer{&out, memory, &desc});
  };
  put(0 - kGranule, kGranule);
  put(0 - 2 * kGranule, 2 * kGranule);
  EXPECT_EQ(w.model.external().buffers().size(), 1u);
  EXPECT_TRUE(w.model.external().buffers().contains(0 - 2 * kGranule));
}

TEST(External, ABufferThatIsFreedWhileTheEndOfItsContextFailsStaysGone) {
  World w;
  Facts facts;
  facts.place.context_id = 7;
  facts.place.device = 0;
  CUexternalMemory memory = object(kMemory);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC import{};
  import.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  import.size = 2 * kGranule;
  w.accept(calls::ImportExternalMemory{&memory, &import}, facts);
  map_buffer(w, memory, kBase);
  map_buffer(w, memory, kBase + 2 * kGranule);
  const calls::CtxDestroy destroy{.ctx = reinterpret_cast<CUcontext>(std::uint64_t{7})};
  ChangeOf<calls::CtxDestroy> change;
  w.model.begin(destroy, w.at(), change);
  EXPECT_TRUE(w.model.external().buffers().empty());
  w.accept(calls::MemFree{.dptr = kBase});
  w.model.undo(destroy, w.at(), change);
  EXPECT_EQ(w.model.external().buffers().size(), 1u);
  EXPECT_TRUE(w.model.external().buffers().contains(kBase + 2 * kGranule));
}

}  // namespace cuvmm::testing::check_external_memory_test
