// SPDX-License-Identifier: Apache-2.0
#include "tools/report/blame/owner.h"

#include <gtest/gtest.h>

#include "tools/report/blame/testing_stacks.h"

namespace cuvmm::tools {
namespace {

TEST(Owner, OfObjects) {
  const std::pair<const char*, Owner> kObjects[] = {
      {"/home/me/build/app", Owner::kProgram},
      {"/usr/bin/app", Owner::kProgram},
      {"/usr/local/cudamine/app", Owner::kProgram},
      {"/ci/0123456789012345678901234567890123456789/app", Owner::kProgram},
      {"/home/me/libcudautils.so", Owner::kProgram},   // begins like a library of NVIDIA's
      {"/home/me/libtorch_mine.so", Owner::kProgram},  // begins like a library of PyTorch's
      {"/home/me/my-site-packages/a.so", Owner::kProgram},
      {"/home/me/liberty/lib/python/a.so", Owner::kProgram},
      {"/opt/libtorch/lib/libtorch_cuda.so", Owner::kPackage},
      {"/v/lib/python3.12/site-packages/jaxlib/libjax_common.so", Owner::kPackage},
      {"/usr/lib/python3/dist-packages/cupy/core.so", Owner::kPackage},
      {"/v/lib/python3.12/site-packages/nvidia/cublas/lib/libcublasLt.so.13", Owner::kNvidia},
      {"/v/site-packages/torch/lib/libcudart-1b2c3d4e.so.13", Owner::kNvidia},
      {"/opt/conda/lib/libcudnn_graph.so.9", Owner::kNvidia},
      {"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", Owner::kNvidia},
      {"/usr/local/cuda-13.0/targets/x86_64-linux/lib/libwhatever.so", Owner::kNvidia},
      {"/usr/lib/x86_64-linux-gnu/libm.so.6", Owner::kSystem},
      {"/lib64/ld-linux-x86-64.so.2", Owner::kSystem},
      {"/opt/conda/lib/libstdc++.so.6.0.33", Owner::kSystem},
      {"/home/me/venv/bin/python3.12", Owner::kSystem},
      {"/opt/conda/lib/libpython3.12.so.1.0", Owner::kSystem},
      {"/opt/py/lib/python3.12/lib-dynload/_ctypes.cpython-312-x86_64-linux-gnu.so",
       Owner::kSystem},
      {"linux-vdso.so.1", Owner::kSystem},
      {"", Owner::kNobody},
      {"/tmp/torchinductor_root/ab/cab.so", Owner::kNobody},
      {"/root/.triton/cache/ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKL/cuda_utils.so",
       Owner::kNobody},
  };
  for (const auto& [module, owner] : kObjects) EXPECT_EQ(owner_of(native(module)), owner) << module;
}

TEST(Owner, OfPython) {
  const std::pair<frames::Frame, Owner> kFunctions[] = {
      {python("/home/me/train.py"), Owner::kProgram},
      {python("/home/me/python3.12/train.py"), Owner::kProgram},
      {python("/v/lib/python3.12/site-packages/torch/nn/module.py"), Owner::kPackage},
      {python("/usr/lib/python3/dist-packages/numpy/a.py"), Owner::kPackage},
      {python("/usr/lib/python3.12/threading.py"), Owner::kSystem},
      {python("<frozen runpy>"), Owner::kSystem},
      {python("<string>", "<module>"), Owner::kNobody},  // python -c, or exec('...')
      {python("<string>", "__init__"), Owner::kNobody},  // of a dataclass
      {python("<eval_with_key>.0", "forward"), Owner::kNobody},
      {python("<ipython-input-1-abc>"), Owner::kProgram},
      {python("/tmp/torchinductor_me/ab/cab.py"), Owner::kNobody},
  };
  for (const auto& [frame, owner] : kFunctions) EXPECT_EQ(owner_of(frame), owner) << frame.file;
}

TEST(Owner, AHeadersCodeIsItsCallers) {
  EXPECT_EQ(owner_of(native("/home/me/app", "std::f()", "/usr/include/c++/12/bits/a.h")),
            Owner::kNobody);
  EXPECT_EQ(owner_of(native("/home/me/app", "at::f()", "/v/site-packages/torch/include/a.h")),
            Owner::kNobody);
  EXPECT_EQ(owner_of(native("/home/me/app", "f()", "/home/me/a.cc")), Owner::kProgram);
  EXPECT_EQ(owner_of(native("/home/me/app", "_start")), Owner::kNobody) << "nobody wrote it";
}

TEST(Stack, ReachesOutToTheStart) {
  EXPECT_TRUE(reaches_start({kTorchCuda, native("/lib/libc.so.6", "clone3")}));
  EXPECT_TRUE(reaches_start({kTorchCuda, native("/lib/libc.so.6", "")}));
  EXPECT_TRUE(reaches_start({kTorchCuda, kLibc, native("/home/me/app", "")}));
  EXPECT_TRUE(reaches_start({kTorchCuda, kLoop, kLibc, kStart, python("/a.py")}));
  EXPECT_FALSE(reaches_start({kTorchCuda, kTorchCuda}));
  EXPECT_FALSE(reaches_start({kTorchCuda, native("/lib/libc.so.6", "qsort_r")})) << "it was cut";
  EXPECT_FALSE(reaches_start({kTorchCuda, native("/home/me/app", "")}));
  EXPECT_FALSE(reaches_start({}));
}

TEST(Stack, SaysWhetherPythonMayBeMissing) {
  std::vector<frames::Frame> frames(10, kTorchPython);
  EXPECT_FALSE(python_was_cut(frames));
  frames.resize(30, kTorchPython);
  EXPECT_TRUE(python_was_cut(frames));
  frames.push_back(python("/usr/lib/python3.12/threading.py", "Thread._bootstrap"));
  EXPECT_FALSE(python_was_cut(frames));
}

TEST(Owner, NamesItsCode) {
  EXPECT_EQ(name_of_code(kTorchCuda), "torch");
  EXPECT_EQ(name_of_code(kTorchPython), "torch");
  EXPECT_EQ(name_of_code(native("/opt/lib/libnccl.so.2")), "libnccl.so.2");
  EXPECT_EQ(name_of_code(native("/home/me/app", "f", "/home/me/a.cc")), "/home/me/a.cc");
  EXPECT_EQ(name_of_code(native("/home/me/app")), "/home/me/app");
}

}  // namespace
}  // namespace cuvmm::tools
