// SPDX-License-Identifier: Apache-2.0
// Kernels for tests. kernels.ptx is what a compiler makes of them:
//   clang-14 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -O2 -S -Xclang -target-feature -Xclang +ptx70 \
//     -o kernels.ptx kernels.cu
#define GLOBAL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))

DEVICE inline int thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE inline int threads_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE inline int block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE inline int blocks_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE inline int index() { return block_x() * threads_x() + thread_x(); }

GLOBAL void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = index();
  if (i < n) c[i] = a[i] + b[i];
}

GLOBAL void saxpy(int n, float a, const float* x, float* y) {
  for (int i = index(); i < n; i += threads_x() * blocks_x()) y[i] = a * x[i] + y[i];
}

GLOBAL void fill(unsigned char* to, unsigned char value, unsigned long n) {
  for (unsigned long i = index(); i < n; i += threads_x() * blocks_x()) to[i] = value;
}

struct Pair {
  double wide;
  int few[4];
};
GLOBAL void copy_pairs(const Pair* from, Pair* to, Pair add, int n) {
  const int i = index();
  if (i >= n) return;
  Pair p = from[i];
  p.wide += add.wide;
  for (int k = 0; k < 4; ++k) p.few[k] += add.few[k];
  to[i] = p;
}

// Adds in shared memory, and in the last warp by shuffles.
GLOBAL void reduce(const int* in, int* out, int n) {
  SHARED static int sums[256];
  int sum = 0;
  for (int i = index(); i < n; i += threads_x() * blocks_x()) sum += in[i];
  sums[thread_x()] = sum;
  __nvvm_bar_sync(0);
  for (int half = threads_x() / 2; half >= 32; half /= 2) {
    if (thread_x() < half) sums[thread_x()] += sums[thread_x() + half];
    __nvvm_bar_sync(0);
  }
  if (thread_x() >= 32) return;
  sum = sums[thread_x()];
  for (int by = 16; by > 0; by /= 2) sum += __nvvm_shfl_sync_down_i32(~0u, sum, by, 31);
  if (thread_x() == 0) __nvvm_atom_add_gen_i(out, sum);
}

// Reverses the block's numbers through shared memory, whose size the launch gives.
extern SHARED int dynamic[];
GLOBAL void reverse(int* values) {
  dynamic[thread_x()] = values[index()];
  __nvvm_bar_sync(0);
  values[index()] = dynamic[threads_x() - 1 - thread_x()];
}

DEVICE __attribute__((noinline)) long collatz(long n, long* most) {
  long steps = 0;
  for (; n != 1; ++steps) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    if (n > *most) *most = n;
  }
  return steps;
}
GLOBAL void collatz_all(long* steps, long* most) {
  long own = 0;
  steps[index()] = collatz(index() + 1, &own);
  most[index()] = own;
}

DEVICE int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
GLOBAL void look_up(int* out) {
  switch (thread_x()) {
    case 0: out[0] = table[2]; break;
    case 1: out[1] = table[4]; break;
    case 2: out[2] = table[7] * 10; break;
    case 3: out[3] = -table[3]; break;
    case 4: out[4] = table[0] << 4; break;
    default: out[thread_x()] = table[thread_x() % 8];
  }
}

extern "C" DEVICE int vprintf(const char*, const char*);
GLOBAL void say(int number, double part) {
  struct {
    int number;
    double part;
    const char* who;
  } values = {number + thread_x(), part, "kernel"};
  vprintf("%d %.2f %s\n", reinterpret_cast<const char*>(&values));
}

GLOBAL void spin(volatile int* flag) {
  while (*flag == 0) {
  }
}

// Each thread takes a lock once; unless all threads get turns, the thread that has the lock never
// releases it.
GLOBAL void locked_increment(int* lock, int* value) {
  bool done = false;
  while (!done) {
    if (__nvvm_atom_cas_gen_i(lock, 0, 1) == 0) {
      *value = *value + 1;
      *reinterpret_cast<volatile int*>(lock) = 0;
      done = true;
    }
  }
}

// Blocks wait for each other.
GLOBAL void meet(int* arrived, int* met) {
  __nvvm_bar_sync(0);
  if (thread_x() == 0) {
    __nvvm_atom_add_gen_i(arrived, 1);
    while (*reinterpret_cast<volatile int*>(arrived) < blocks_x()) {
    }
    __nvvm_atom_add_gen_i(met, 1);
  }
}

GLOBAL void trap_if(int really) {
  if (really) __builtin_trap();
}

GLOBAL void misaligned(char* at) { *reinterpret_cast<volatile int*>(at + 2) = 1; }
