// SPDX-License-Identifier: Apache-2.0
// 100 fills that a multicast address refuses: the emulator prints the reason once, and not at all
// under CUVMM_QUIET. The runner checks stderr. The object is imported, because only the machine,
// and no rule, can know whether other processes bound memory to it.
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
