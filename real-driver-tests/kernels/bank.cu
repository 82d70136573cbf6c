// SPDX-License-Identifier: Apache-2.0
// Pairs of small kernels: one with a mistake, and its legal twin. bank.tsv says how each is
// launched, and what cuvmm and compute-sanitizer find. Build: nvcc -lineinfo -cudart shared -arch
// sm_90 bank.cu -o bank; run: ./bank NAME BLOCKS THREADS SHARED MEMORY COUNT
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define KERNEL(name) extern "C" __global__ void name([[maybe_unused]] int* a, [[maybe_unused]] int* b, [[maybe_unused]] int n)
#define T threadIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)

// Memory.
KERNEL(past_bug) { a[I] = 1; }
KERNEL(past_ok) { if (I < n) a[I] = 1; }
KERNEL(behind_bug) { b[I] = a[I + 1]; }
KERNEL(behind_ok) { b[I] = a[(I + 1) % n]; }
KERNEL(before_bug) { a[(int)T - 1] = 1; }
KERNEL(before_ok) { if (T > 0) a[(int)T - 1] = 1; }
KERNEL(far_bug) { a[(1L << 34) + T] = 1; }
KERNEL(far_ok) { a[T] = 1; }
KERNEL(byte_bug) { ((char*)a)[4 * n + (int)T] = 1; }
KERNEL(byte_ok) { ((char*)a)[4 * n - 1 - (int)T] = 1; }
KERNEL(aligned_bug) { *(int*)((char*)a + 4 * T + 1) = 1; }
KERNEL(aligned_ok) { *(int*)((char*)a + 4 * T + 4) = 1; }
KERNEL(vector_bug) { *(int4*)(a + 1 + 4 * T) = make_int4(1, 2, 3, 4); }
KERNEL(vector_ok) { *(int4*)(a + 4 * T) = make_int4(1, 2, 3, 4); }
KERNEL(null_bug) { *(volatile int*)(b - (b - (int*)0)) = 1; }
KERNEL(null_ok) { *(volatile int*)b = 1; }
KERNEL(atomic_bug) { atomicAdd(a + n, 1); }
KERNEL(atomic_ok) { atomicAdd(a + n - 1, 1); }
KERNEL(static_bug) { __shared__ int s[32]; s[T] = n; __syncthreads(); a[T] = s[T]; }
KERNEL(static_ok) { __shared__ int s[64]; s[T] = n; __syncthreads(); a[T] = s[T]; }
extern __shared__ int dynamic[];
KERNEL(dynamic_bug) { dynamic[T + 1] = n; __syncthreads(); a[T] = dynamic[T + 1]; }
KERNEL(dynamic_ok) { dynamic[T] = n; __syncthreads(); a[T] = dynamic[T]; }
KERNEL(local_bug) { int l[8]; for (int k = 0; k < 8; ++k) l[k] = a[k]; l[n * 100 + T] = 3; b[T] = l[a[0] & 7]; }
KERNEL(local_ok) { int l[8]; for (int k = 0; k < 8; ++k) l[k] = a[k]; l[(n * 100 + T) & 7] = 3; b[T] = l[a[0] & 7]; }
KERNEL(freed_bug) { b[T] = 1; }
KERNEL(freed_ok) { a[T] = 1; }
KERNEL(wide_bug) { *(double*)(a + 2 * T + 1) = 1; }
KERNEL(wide_ok) { *(double*)(a + 2 * T) = 1; }
KERNEL(host_bug) { *(volatile int*)(b + (0x7ffc00001000L - (long)b) / 4) = 1; }
KERNEL(host_ok) { *(volatile int*)(b + T) = 1; }
KERNEL(table_bug) { b[T] = a[a[T] - 1]; }
KERNEL(table_ok) { b[T] = a[a[T]]; }
KERNEL(halo_bug) { b[I] = a[I] + (I > 0 ? a[I - 1] : 0) + a[I + 1]; }
KERNEL(halo_ok) { b[I] = a[I] + (I > 0 ? a[I - 1] : 0) + (I + 1 < n ? a[I + 1] : 0); }
// Bytes that nobody wrote.
KERNEL(fresh_bug) { b[T] = a[T]; }
KERNEL(fresh_ok) { b[T] = T; a[T] = b[T]; }
KERNEL(half_bug) { if (a[T] == 12345) b[T] = 1; }
KERNEL(half_ok) { if (a[T % (n / 2)] == 12345) b[T] = 1; }
KERNEL(count_bug) { atomicAdd(a, 1); }
KERNEL(count_ok) { if (T == 0) a[0] = 0; __syncthreads(); atomicAdd(a, 1); }
KERNEL(tail_bug) { ((char*)a)[0] = 1; ((char*)a)[1] = 1; ((char*)a)[2] = 1; b[0] = *(volatile int*)a; }
KERNEL(tail_ok) { ((char*)a)[0] = 1; ((char*)a)[1] = 1; ((char*)a)[2] = 1; ((char*)a)[3] = 1; b[0] = *(volatile int*)a; }
KERNEL(stride_bug) { a[2 * T] = 1; __syncthreads(); if (a[T] == 7) b[0] = 1; }
KERNEL(stride_ok) { a[2 * T] = 1; __syncthreads(); if (a[2 * (T / 2)] == 7) b[0] = 1; }
// Races in shared memory.
KERNEL(turn_bug) { __shared__ int s[64]; s[T] = I; a[T] = s[63 - T]; }
KERNEL(turn_ok) { __shared__ int s[64]; s[T] = I; __syncthreads(); a[T] = s[63 - T]; }
KERNEL(again_bug) { __shared__ int s[64]; for (int k = 0; k < 3; ++k) { s[T] = I + k; __syncthreads(); a[T] += s[63 - T]; } }
KERNEL(again_ok) { __shared__ int s[64]; for (int k = 0; k < 3; ++k) { s[T] = I + k; __syncthreads(); a[T] += s[63 - T]; __syncthreads(); } }
KERNEL(last_bug) { __shared__ int s; s = T; __syncthreads(); a[T] = s; }
KERNEL(last_ok) { __shared__ int s; if (T == 5) s = T; __syncthreads(); a[T] = s; }
KERNEL(sum_bug) { __shared__ int s[64]; s[T] = T; __syncthreads(); for (int k = 32; k > 0; k /= 2) { if (T < k) s[T] += s[T + k]; } a[T] = s[0]; }
KERNEL(sum_ok) { __shared__ int s[64]; s[T] = T; __syncthreads(); for (int k = 32; k > 0; k /= 2) { if (T < k) s[T] += s[T + k]; __syncthreads(); } a[T] = s[0]; }
KERNEL(tally_bug) { __shared__ int s; if (T == 0) s = 0; __syncthreads(); s += 1; __syncthreads(); a[T] = s; }
KERNEL(tally_ok) { __shared__ int s; if (T == 0) s = 0; __syncthreads(); atomicAdd(&s, 1); __syncthreads(); a[T] = s; }
KERNEL(zeroed_bug) { __shared__ int s; if (T == 0) s = 7; atomicAdd(&s, 1); __syncthreads(); a[T] = s; }
KERNEL(zeroed_ok) { __shared__ int s; if (T == 0) s = 7; __syncthreads(); atomicAdd(&s, 1); __syncthreads(); a[T] = s; }
KERNEL(warp_bug) { __shared__ int s[32]; s[T] = T + 1; a[T] = s[T ^ 1]; }
KERNEL(warp_ok) { __shared__ int s[32]; s[T] = T + 1; __syncwarp(); a[T] = s[T ^ 1]; }
KERNEL(named_bug) { __shared__ int s[64]; s[T] = I; asm volatile("bar.sync %0, 32;" ::"r"(1 + T / 32)); a[T] = s[63 - T]; }
KERNEL(named_ok) { __shared__ int s[64]; s[T] = I; asm volatile("bar.sync 1, 64;"); a[T] = s[63 - T]; }
KERNEL(scan_bug) { __shared__ int s[64]; s[T] = T; __syncthreads(); for (int k = 1; k < 64; k *= 2) { if (T >= k) s[T] += s[T - k]; __syncthreads(); } a[T] = s[T]; }
KERNEL(scan_ok) { __shared__ int s[64]; s[T] = T; __syncthreads(); for (int k = 1; k < 64; k *= 2) { int v = T >= k ? s[T - k] : 0; __syncthreads(); s[T] += v; __syncthreads(); } a[T] = s[T]; }
KERNEL(tile_bug) { __shared__ int s[8][9]; s[T / 8][T % 8] = T + 1; a[T] = s[T % 8][T / 8]; }
KERNEL(tile_ok) { __shared__ int s[8][9]; s[T / 8][T % 8] = T + 1; __syncthreads(); a[T] = s[T % 8][T / 8]; }
KERNEL(queue_bug) { __shared__ int s[65]; if (T == 0) s[64] = 0; __syncthreads(); s[atomicAdd(s + 64, 1)] = T + 1; a[T] = s[63 - T]; }
KERNEL(queue_ok) { __shared__ int s[65]; if (T == 0) s[64] = 0; __syncthreads(); s[atomicAdd(s + 64, 1)] = T + 1; __syncthreads(); a[T] = s[63 - T]; }
KERNEL(bytes_bug) { __shared__ char s[64]; s[T] = T + 1; a[T] = s[T ^ 1]; }
KERNEL(bytes_ok) { __shared__ char s[64]; s[T] = T + 1; a[T] = s[T]; }
// Races in global memory.
KERNEL(grid_bug) { if (T == 0) a[0] = blockIdx.x + 1; }
KERNEL(grid_ok) { if (T == 0) a[blockIdx.x] = blockIdx.x + 1; }
KERNEL(add_bug) { a[0] += 1; }
KERNEL(add_ok) { atomicAdd(a, 1); }
KERNEL(flag_bug) { if (T == 0) { if (blockIdx.x == 0) { a[0] = 5; atomicExch(b, 1); } else if (atomicAdd(b, 0)) a[1 + blockIdx.x] = a[0]; } }
KERNEL(flag_ok) { if (T == 0) { if (blockIdx.x == 0) { a[0] = 5; __threadfence(); atomicExch(b, 1); } else if (atomicAdd(b, 0)) { __threadfence(); a[1 + blockIdx.x] = a[0]; } } }
KERNEL(shift_bug) { if (I + 1 < n) a[I] = a[I + 1] + 1; }
KERNEL(shift_ok) { if (I + 1 < n) b[I] = a[I + 1] + 1; }
// Barriers and masks.
KERNEL(lane_bug) { __syncwarp(0xffff); a[T] = 1; }
KERNEL(lane_ok) { if (T < 16) __syncwarp(0xffff); a[T] = 1; }
KERNEL(sides_bug) { if (T % 2) { a[T] = 1; asm volatile("bar.sync 0;"); } else { asm volatile("bar.sync 0;"); a[T] = 2; } }
KERNEL(sides_ok) { if (T % 2) a[T] = 1; asm volatile("bar.sync 0;"); if (T % 2 == 0) a[T] = 2; }
KERNEL(some_bug) { if (T < 48) asm volatile("bar.sync 1, %0;" ::"r"(n - 16)); a[T] = 1; }
KERNEL(some_ok) { if (T < 32) asm volatile("bar.sync 1, 32;"); a[T] = 1; }
KERNEL(shuffle_bug) { a[T] = __shfl_sync(0x1, (int)T, 0); }
KERNEL(shuffle_ok) { a[T] = __shfl_sync(0xffffffff, (int)T, 0); }
// Threads that ended are expected at no barrier: cuvmm finds nothing.
KERNEL(exit_bug) { if (T < 16) return; __syncthreads(); a[T] = 1; }
KERNEL(exit_ok) { if (T >= 16) a[T] = 1; __syncthreads(); }
KERNEL(warps_bug) { if (T < 32) __syncthreads(); a[T] = 1; }
KERNEL(warps_ok) { __syncthreads(); a[T] = 1; }

#ifndef BANK_KERNELS_ONLY
#define NAME(name) {#name, (void*)name},
#define PAIR(name) NAME(name##_bug) NAME(name##_ok)
static const struct { const char* name; void* kernel; } kAll[] = {
    PAIR(past) PAIR(behind) PAIR(before) PAIR(far) PAIR(byte) PAIR(aligned) PAIR(vector) PAIR(null)
    PAIR(atomic) PAIR(static) PAIR(dynamic) PAIR(local) PAIR(freed) PAIR(fresh) PAIR(half)
    PAIR(count) PAIR(tail) PAIR(stride) PAIR(turn) PAIR(again) PAIR(last) PAIR(sum) PAIR(tally)
    PAIR(zeroed) PAIR(warp) PAIR(named) PAIR(grid) PAIR(add) PAIR(flag) PAIR(shift) PAIR(lane)
    PAIR(sides) PAIR(some) PAIR(shuffle) PAIR(wide) PAIR(host) PAIR(table) PAIR(halo) PAIR(scan)
    PAIR(tile) PAIR(queue) PAIR(bytes) PAIR(exit) PAIR(warps)};

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int shared = std::atoi(argv[4]), n = std::atoi(argv[6]);
  int *a = nullptr, *b = nullptr;
  const size_t bytes = sizeof(int) * n;
  if (cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes)) return 3;
  const char memory = argv[5][0];  // zero, half, fresh
  if (memory != 'f') cudaMemset(a, 0, memory == 'h' ? bytes / 2 : bytes);
  if (memory == 'z') cudaMemset(b, 0, bytes);
  if (!std::strncmp(argv[1], "freed", 5)) cudaFree(b);
  for (const auto& each : kAll) {
    if (std::strcmp(each.name, argv[1])) continue;
    void* arguments[] = {&a, &b, (void*)&n};
    cudaLaunchKernel(each.kernel, dim3(std::atoi(argv[2])), dim3(std::atoi(argv[3])), arguments, shared, 0);
    std::printf("%s: %s\n", argv[1], cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
  }
  return 4;
}
#endif
