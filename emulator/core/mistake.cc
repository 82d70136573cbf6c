// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/mistake.h"

#include <sys/stat.h>

#include <cstring>
#include <new>
#include <utility>

namespace cuvmm::emulator {

namespace {

// Replaces shared memory by a copy of its contents, so that the memory is not shared any more.
void unshare(Physical& memory) {
  Physical copy(memory.size(), memory.prop(), true, 0, nullptr);
  char* const to = copy.touch(0, copy.size());
  const char* const from = memory.touch(0, memory.size());
  if (to && from) std::memcpy(to, from, memory.size());
  memory.~Physical();
  new (&memory) Physical(std::move(copy));
}

}  // namespace

void slip(Emulator& e, const Mutation& mistake, const calls::MemImportFromShareableHandle& call) {
  if (mistake.kind != Mutation::Kind::kImportCopies || e.teams.contains(*call.handle)) return;
  Physical* const memory = e.physical.find(*call.handle);
  struct stat imported {};
  if (!memory || fstat(memory->descriptor(), &imported) != 0) return;
  const bool own = e.physical.any_of([&](Handle handle, Physical& mine) {
    struct stat status {};
    return handle != *call.handle && fstat(mine.descriptor(), &status) == 0 &&
           status.st_ino == imported.st_ino;
  });
  if (!own) unshare(*memory);
}

void slip(Emulator& e, const Mutation& mistake, const calls::IpcOpenMemHandle& call) {
  if (mistake.kind != Mutation::Kind::kIpcCopies) return;
  PlainAllocation& opened = *e.plain.find(*call.pdptr);
  if (opened.opens == 1) unshare(opened.memory);
}

}  // namespace cuvmm::emulator
