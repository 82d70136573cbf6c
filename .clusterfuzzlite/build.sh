#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds every fuzz target into $OUT, as OSS-Fuzz and ClusterFuzzLite ask: with $CC, $CXX, $CFLAGS, $CXXFLAGS and
# $LIB_FUZZING_ENGINE as they are, from $SRC/cuvmm. CUDA_INCLUDE names the CUDA headers if they are not in .deps.
set -euo pipefail
: "${SRC:?}" "${OUT:?}" "${CC:?}" "${CXX:?}" "${LIB_FUZZING_ENGINE:?}"
source=$(realpath "$SRC/cuvmm")
build=${WORK:-$SRC/work}/cuvmm-build
targets=(emulator shim text profile report shareable ticket)

# What the code does on purpose: any number in an enumeration of cuda.h is a call to be judged, and addresses wrap.
if [[ ${SANITIZER:-address} == undefined ]]; then
  CFLAGS+=" -fno-sanitize=enum,unsigned-integer-overflow"
  CXXFLAGS+=" -fno-sanitize=enum,unsigned-integer-overflow"
  export CFLAGS CXXFLAGS
fi
options=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG= -DCMAKE_CXX_FLAGS_DEBUG= -DBUILD_TESTING=OFF
  -DCUVMM_WERROR=OFF -DCUVMM_FUZZ=ON "-DCUVMM_FUZZ_ENGINE=$LIB_FUZZING_ENGINE"
  "-DCUVMM_CUDA_INCLUDE=${CUDA_INCLUDE:-$source/.deps/cuda-13.0/include}")
cmake -S "$source" -B "$build" -G Ninja -Wno-dev "${options[@]}"
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target cuvmm_emulator cuvmm-fuzz "${targets[@]/#/cuvmm-fuzz-}"

# The targets load the emulator from the folder that they lie in.
mkdir -p "$OUT/emulator"
cp -L "$build/lib/emulator/libcuda.so.1" "$OUT/emulator/"
seeds=$(mktemp -d)
for text in "$source"/fuzz/corpus/one-process/*/*.cuvmm; do
  "$build/bin/cuvmm-fuzz" --driver "$build/lib/emulator/libcuda.so.1" --binary "$text" > "$seeds/$(basename "$text" .cuvmm)"
done
for target in "${targets[@]}"; do
  name=cuvmm-fuzz-$target
  cp "$build/bin/$name" "$OUT/"
  case $target in
    emulator | shim) (cd "$seeds" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*) ;;
    text) (cd "$source/fuzz/corpus" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*) ;;
    profile) (cd "$source/rulebook/profiles" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*) ;;
  esac
  # Leaks: the check at the exit of a process dies on the thread-locals of a library that was opened late. The engine's own
  # option turns off its hook in each allocation.
  printf '[libfuzzer]\nmax_len = 1024\nentropic = 0\ndetect_leaks = 0\n[asan]\ndetect_leaks = 0\n' > "$OUT/$name.options"
done
rm -r "$seeds"
# A target of that name has programs of two processes (fuzz/targets/engine.cc).
seeds=$(mktemp -d)
for text in "$source"/fuzz/corpus/processes/*.cuvmm; do
  "$build/bin/cuvmm-fuzz" --driver "$build/lib/emulator/libcuda.so.1" --binary "$text" > "$seeds/$(basename "$text" .cuvmm)"
done
for target in emulator shim; do
  name=cuvmm-fuzz-$target-processes
  cp "$OUT/cuvmm-fuzz-$target" "$OUT/$name"
  cp "$OUT/cuvmm-fuzz-$target.options" "$OUT/$name.options"
  (cd "$seeds" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
done
rm -r "$seeds"
