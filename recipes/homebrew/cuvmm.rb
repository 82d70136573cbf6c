# SPDX-License-Identifier: Apache-2.0
class Cuvmm < Formula
  desc "Finds misuse of the CUDA driver's memory APIs, also without a GPU"
  homepage "https://github.com/OWNER/cuvmm"
  url "https://github.com/OWNER/cuvmm/releases/download/v0.1.0/cuvmm-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "fmt" => :build
  depends_on "lz4" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "python@3.13" => :build
  depends_on "tomlplusplus" => :build
  depends_on "zstd" => :build
  depends_on arch: :x86_64
  depends_on "elfutils"
  depends_on :linux

  def install
    # Homebrew has no CUDA. Its headers are in a wheel of NVIDIA's.
    system "python3.13", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", "headers",
           "nvidia-cuda-runtime==13.0.96"
    system "python3.13", "-m", "zipfile", "-e", *Dir["headers/*.whl"], "headers"
    include = File.dirname(Dir["headers/**/cudaTypedefs.h"].first)
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args,
           "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_UNITY_BUILD=ON", "-DBUILD_TESTING=OFF", "-DCUVMM_CCACHE=OFF",
           "-DCUVMM_CUDA_INCLUDE=#{buildpath}/#{include}"
    system "cmake", "--build", "build", "--target", "installed"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "offset is 0", shell_output("#{bin}/cuvmm explain cuMemMap-offset-zero")
  end
end
