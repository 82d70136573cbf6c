# SPDX-License-Identifier: Apache-2.0
{ lib, stdenv, fetchurl, cmake, ninja, python3, cli11, nlohmann_json, fmt, tomlplusplus, elfutils, lz4, zstd, cudaPackages }:

stdenv.mkDerivation rec {
  pname = "cuvmm";
  version = "0.1.0";

  src = fetchurl {
    url = "https://github.com/OWNER/cuvmm/releases/download/v${version}/cuvmm-${version}.tar.gz";
    sha256 = "0000000000000000000000000000000000000000000000000000000000000000";
  };

  nativeBuildInputs = [ cmake ninja python3 ];
  # Without archives of lz4 and zstd the emulator reads no compressed parts of fat binaries.
  buildInputs = [ cli11 nlohmann_json fmt tomlplusplus elfutils lz4 (zstd.override { enableStatic = true; }) ];

  cmakeFlags = [
    "-DCMAKE_BUILD_TYPE=RelWithDebInfo"
    "-DCMAKE_UNITY_BUILD=ON"
    "-DBUILD_TESTING=OFF"
    "-DCUVMM_CCACHE=OFF"
    "-DCUVMM_CUDA_INCLUDE=${lib.getDev cudaPackages.cuda_cudart}/include"
  ];
  ninjaFlags = [ "installed" ];

  doInstallCheck = true;
  installCheckPhase = "$out/bin/cuvmm explain cuMemMap-offset-zero";

  meta = {
    description = "Finds misuse of the CUDA driver's memory APIs, and runs programs that use them without a GPU";
    license = lib.licenses.asl20;
    platforms = [ "x86_64-linux" ];
    mainProgram = "cuvmm";
  };
}
