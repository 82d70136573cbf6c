// SPDX-License-Identifier: Apache-2.0
// 100 fills that a multicast address refuses: the reason is told once, and not at all to those who
// asked for quiet. The runner looks at stderr. The object is imported: whether other processes
// bound memory to it no rule can know, only the machine.
#include "emulator/testing_life/life.h"

int main() {
  use_device();
  CUmulticastObjectProp prop{};
  prop.numDevices = 1;
  prop.size = kGranule;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  Block object;
  CUmemGenericAllocationHandle imported = 0;
  OK(cuMulticastCreate(&object.handle, &prop));
  OK(cuMulticastAddDevice(object.handle, 0));
  OK(import_from(exported(object), &imported));
  const Block team = map_block(imported);
  for (int i = 0; i < 100; ++i) {
    EXPECT(cuMemsetD8(team.address, 1, 64) != CUDA_SUCCESS);
  }
  return 0;
}
