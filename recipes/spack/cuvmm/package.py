# SPDX-License-Identifier: Apache-2.0
from spack.package import *


class Cuvmm(CMakePackage):
    """Finds misuse of the CUDA driver's memory APIs, and runs programs that use them without a GPU."""

    homepage = "https://github.com/OWNER/cuvmm"
    url = "https://github.com/OWNER/cuvmm/releases/download/v0.1.0/cuvmm-0.1.0.tar.gz"

    license("Apache-2.0")

    version("0.1.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    requires("platform=linux", "target=x86_64:", msg="cuvmm runs on Linux on x86-64")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("fmt", type="build")
    depends_on("tomlplusplus", type="build")
    depends_on("elfutils")
    depends_on("lz4 libs=static", type="build")
    depends_on("zstd libs=static", type="build")
    depends_on("cuda@12.4:", type="build")  # its headers alone

    conflicts("%gcc@:11")

    generator("ninja")
    build_targets = ["installed"]

    def cmake_args(self):
        return [
            self.define("CMAKE_BUILD_TYPE", "RelWithDebInfo"),
            self.define("CMAKE_UNITY_BUILD", True),
            self.define("BUILD_TESTING", False),
            self.define("CUVMM_CCACHE", False),
            self.define("CUVMM_CUDA_INCLUDE", self.spec["cuda"].prefix.include),
        ]
