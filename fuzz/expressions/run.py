#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random C++ functions, compiled for the host by a C++ compiler and to PTX by nvcc, have equal results.

  fuzz/expressions/run.py LIBCUDA [--seconds S] [--seed N] [--functions N] [--keep FOLDER]

Each round writes functions of integers and of floating point with branches, loops, arrays and CUDA's intrinsics, and
computes them for THREADS inputs on both sides. It prints each function that differs, with its inputs, and exits with 1
after a difference, 77 without nvcc. Only operations whose results are specified to the last bit occur.
"""
import argparse
import ctypes
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

THREADS = 224  # seven warps
INTEGERS = ["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"]
FLOATS = ["float", "double"]
# The plain C++ meaning of each intrinsic is in reference.inc.
BY_TYPE = {
    "uint32_t": ["m_bfe({u}, {u}, {u})", "m_perm({u}, {u}, {u})", "m_funnel_l({u}, {u}, {u})", "m_funnel_r({u}, {u}, {u})",
                 "m_funnel_lc({u}, {u}, {u})", "m_funnel_rc({u}, {u}, {u})", "m_brev({u})", "m_mulhi_u({u}, {u})",
                 "m_sad_u({u}, {u}, {u})", "m_dp4a_u({u}, {u}, {u})", "m_lop({u}, {u}, {u})", "m_f2u_rz({f})",
                 "m_f2u_rn({f})", "m_d2u_rz({d})", "m_avg({u}, {u})", "m_vadd4({u}, {u})", "m_vmaxs2({i}, {i})",
                 "m_fbits({f})", "m_add_carry({u}, {u}, {u}, {u})", "m_mul24({u}, {u})", "m_half({f})"],
    "int32_t": ["m_popc({u})", "m_clz({u})", "m_ffs({u})", "m_clzll({U})", "m_popcll({U})", "m_mulhi_s({i}, {i})",
                "m_sad_s({i}, {i}, {u})", "m_dp4a_s({i}, {i}, {i})", "m_f2i_rz({f})", "m_f2i_rn({f})", "m_f2i_ru({f})",
                "m_f2i_rd({f})", "m_d2i_rz({d})", "m_d2i_rn({d})", "m_hadd({i}, {i})"],
    "uint64_t": ["m_mulhi_ull({U}, {U})", "m_brevll({U})", "m_d2ull_rz({d})", "m_f2ull_rz({f})", "m_dbits({d})"],
    "int64_t": ["m_mulhi_ll({I}, {I})", "m_d2ll_rz({d})", "m_f2ll_rn({f})", "m_d2ll_rd({d})"],
    "float": ["m_fadd_rz({f}, {f})", "m_fadd_ru({f}, {f})", "m_fmul_rd({f}, {f})", "m_fma({f}, {f}, {f})", "m_fma_rz({f}, {f}, {f})",
              "m_fdiv_ru({f}, {f})", "m_fsqrt_rd({f})", "sqrtf({f})", "floorf({f})", "ceilf({f})", "truncf({f})", "rintf({f})",
              "m_min({f}, {f})", "m_max({f}, {f})", "fabsf({f})", "m_copysign({f}, {f})", "m_i2f_rz({i})", "m_u2f_ru({u})",
              "m_ull2f_rd({U})", "m_ll2f_rz({I})", "m_d2f_ru({d})", "m_d2f_rz({d})", "m_saturate({f})", "m_from_half({u})",
              "m_as_float({u})"],
    "double": ["m_dadd_rd({d}, {d})", "m_dmul_ru({d}, {d})", "m_dfma({d}, {d}, {d})", "m_ddiv_rz({d}, {d})", "sqrt({d})",
               "floor({d})", "ceil({d})", "trunc({d})", "rint({d})", "m_dmin({d}, {d})", "fabs({d})", "m_copysign({d}, {d})",
               "m_ll2d_rz({I})", "m_ull2d_rd({U})", "m_hiloint({i}, {i})"],
}
LETTERS = {"u": "uint32_t", "i": "int32_t", "U": "uint64_t", "I": "int64_t", "f": "float", "d": "double"}
INPUTS = {"uint32_t": ["a", "b", "c"], "int32_t": ["(int32_t)a", "(int32_t)b"], "uint64_t": ["p", "q"],
          "int64_t": ["(int64_t)p", "(int64_t)q"], "float": ["x", "y", "z"], "double": ["v", "w"]}


class Writer:
    def __init__(self, chance):
        self.chance = chance
        self.locals = {}

    def leaf(self, kind):
        choices = list(INPUTS.get(kind, [])) + self.locals.get(kind, [])
        if kind in INTEGERS:
            choices += [f"({kind}){self.chance.choice(['0', '1', '-1', '31', '127', '255', '0x8000', '0x7fffffff', '0xfedcba98u'])}",
                        f"({kind}){self.chance.choice(['a', 'p', 'b'])}"]
        else:
            choices += [f"({kind}){self.chance.choice(['0.0', '1.5', '-2.0', '1e10', '-3.25e-5'])}"]
        return self.chance.choice(choices)

    def condition(self, depth):
        kind = self.chance.choice(INTEGERS[4:] + FLOATS)
        text = f"({self.make(kind, depth)}) {self.chance.choice(['<', '<=', '>', '>=', '==', '!='])} ({self.make(kind, depth)})"
        if depth > 0 and self.chance.random() < 0.3:
            text = f"({text}) {self.chance.choice(['&&', '||', '!='])} ({self.condition(depth - 1)})"
        return text

    def make(self, kind, depth):
        if depth <= 0:
            return self.leaf(kind)
        roll = self.chance.random()
        down = depth - 1
        if roll < 0.25 and kind in BY_TYPE:
            form = self.chance.choice(BY_TYPE[kind])
            for letter, of in LETTERS.items():
                while "{" + letter + "}" in form:
                    form = form.replace("{" + letter + "}", "\0" + self.make(of, down), 1)
            return form.replace("\0", "")
        if roll < 0.35:
            return f"(({self.condition(down)}) ? ({self.make(kind, down)}) : ({self.make(kind, down)}))"
        if kind in FLOATS:
            if roll < 0.5:
                other = self.chance.choice(["int32_t", "uint32_t", "int64_t", "uint64_t", "int8_t", "uint16_t"] + FLOATS)
                return f"(({kind})({self.make(other, down)}))"
            return f"(({self.make(kind, down)}) {self.chance.choice('+-*/')} ({self.make(kind, down)}))"
        if roll < 0.5:
            return f"(({kind})({self.make(self.chance.choice(INTEGERS), down)}))"
        unsigned = kind if kind.startswith("u") else "u" + kind
        bits = int(kind.strip("uint_"))
        x, y = self.make(kind, down), self.make(kind, down)
        operation = self.chance.choice(["+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>", "~", "-1"])
        if operation in "/%":
            return f"m_{'div' if operation == '/' else 'rem'}<{kind}>({x}, {y})"
        if operation == "<<":
            return f"(({kind})(({unsigned})({x}) << (({y}) & {bits - 1})))"
        if operation == ">>":
            return f"(({kind})(({kind})({x}) >> (({y}) & {bits - 1})))"
        if operation == "~":
            return f"(({kind})~({x}))"
        if operation == "-1":
            return f"(({kind})(0 - ({unsigned})({x})))"
        if bits == 16 and operation == "*":
            unsigned = "uint32_t"  # the product of two numbers of 16 bits would be a signed one
        return f"(({kind})(({unsigned})({x}) {operation} ({unsigned})({y})))"

    def function(self, number):
        self.locals = {}
        lines = []
        for k in range(self.chance.randint(1, 5)):
            kind = self.chance.choice(INTEGERS + FLOATS + INTEGERS[4:])
            name = f"t{k}"
            roll = self.chance.random()
            if roll < 0.55:
                lines.append(f"{kind} {name} = {self.make(kind, 3)};")
            elif roll < 0.7:
                lines.append(f"{kind} {name} = {self.leaf(kind)};\n  if ({self.condition(2)}) {{ {name} = {self.make(kind, 2)}; }} "
                             f"else {{ {name} = {self.make(kind, 2)}; }}")
            elif roll < 0.85:
                first = self.make(kind, 1)
                self.locals.setdefault(kind, []).append(name)
                lines.append(f"{kind} {name} = {first};\n  for (uint32_t k{k} = 0; k{k} < (a >> {k}) % 7u; ++k{k}) "
                             f"{{ {name} = {self.make(kind, 2)}; if ({self.condition(1)}) break; }}")
                continue
            else:
                lines.append(f"{kind} r{k}[8];\n  for (int j = 0; j < 8; ++j) r{k}[j] = ({kind})({self.make(kind, 1)}) ;\n"
                             f"  r{k}[b & 7] = {self.make(kind, 2)};\n  {kind} {name} = r{k}[c & 7];")
            self.locals.setdefault(kind, []).append(name)
        total = " ^ ".join(f"(m_bits({name}) * {3 + 2 * k}u)" for k, names in enumerate(self.locals.values()) for name in names)
        return (f"BOTH uint64_t f{number}(uint32_t a, uint32_t b, uint32_t c, uint64_t p, uint64_t q, float x, float y, float z, "
                f"double v, double w) {{\n  " + "\n  ".join(lines) + f"\n  return {total};\n}}\n")


LAYOUT = "IIIxxxxQQfffxxxxdd"
STRIDE = struct.calcsize("<" + LAYOUT)


def inputs(chance):
    special32 = [0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 31, 32, 33, 0xff, 0x8000]
    floats = [0.0, -0.0, 1.0, -1.5, 2147483648.0, -2147483904.0, 4294967296.0, 1e-40, 3.4e38, float("inf"), float("-inf"),
              float("nan"), 0.5, 2.5, 1e20]

    def word(bits):
        return chance.choice(special32) if chance.random() < 0.3 else chance.getrandbits(bits) >> chance.randrange(bits)

    def real(bits, form):
        if chance.random() < 0.4:
            return chance.choice(floats)
        if chance.random() < 0.5:
            return chance.uniform(-1000, 1000)
        return struct.unpack("<" + form, chance.getrandbits(bits).to_bytes(bits // 8, "little"))[0]

    out = b""
    for _ in range(THREADS):
        out += struct.pack("<" + LAYOUT, word(32), word(32), word(32), word(64), word(64), *(real(32, "f") for _ in range(3)),
                           real(64, "d"), real(64, "d"))
    return out


class Device:
    def __init__(self, path):
        self.cuda = ctypes.CDLL(path)
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} answered {code}")

    def run(self, ptx, data, count):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx))
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"all")
        into, out = ctypes.c_uint64(), ctypes.c_uint64()
        size = THREADS * count * 8
        self.call("cuMemAlloc_v2", ctypes.byref(into), ctypes.c_size_t(len(data)))
        self.call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(size))
        self.call("cuMemcpyHtoD_v2", into, data, ctypes.c_size_t(len(data)))
        places = (ctypes.c_void_p * 2)(ctypes.addressof(into), ctypes.addressof(out))
        self.call("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, 0, None, places, None)
        result = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", result, out, ctypes.c_size_t(size))
        for address in (into, out):
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)
        return result.raw


def one_round(device, seed, count, folder):
    chance = random.Random(seed)
    text = '#include "reference.inc"\n' + "".join(Writer(chance).function(k) for k in range(count))
    arguments = "i.a, i.b, i.c, i.p, i.q, i.x, i.y, i.z, i.v, i.w"
    calls = "".join(f"  out[{k} * n + t] = f{k}({arguments});\n" for k in range(count))
    text += ("struct Input { uint32_t a, b, c; uint64_t p, q; float x, y, z; double v, w; };\n"
             "#ifdef __CUDACC__\nextern \"C\" __global__ void all(const Input* in, uint64_t* out) {\n  const uint32_t t = threadIdx.x, n = "
             f"blockDim.x;\n  const Input i = in[t];\n{calls}}}\n#else\n"
             "extern \"C\" void all(const Input* in, uint64_t* out, uint32_t n) {\n"
             f"  for (uint32_t t = 0; t < n; ++t) {{\n  const Input i = in[t];\n{calls}}}\n}}\n#endif\n")
    here = pathlib.Path(__file__).parent
    (folder / "round.cu").write_text(text)
    (folder / "round.cc").write_text(text)
    subprocess.run(["nvcc", "-ptx", "-std=c++17", "-fmad=false", "-arch=compute_80", "-w", "-I", here, "round.cu", "-o",
                    "round.ptx"], cwd=folder, check=True)
    subprocess.run(["g++", "-std=c++20", "-O0", "-w", "-ffp-contract=off", "-frounding-math", "-fwrapv", "-shared", "-fPIC", "-I",
                    here, "round.cc", "-o", f"round{seed}.so"], cwd=folder, check=True)
    host = ctypes.CDLL(str(folder / f"round{seed}.so"))
    data = inputs(chance)
    expected = ctypes.create_string_buffer(THREADS * count * 8)
    host.all(data, expected, ctypes.c_uint32(THREADS))
    got = device.run((folder / "round.ptx").read_bytes(), data, count)
    different = 0
    for k in range(count):
        row = slice(k * THREADS * 8, (k + 1) * THREADS * 8)
        want, have = struct.unpack(f"<{THREADS}Q", expected.raw[row]), struct.unpack(f"<{THREADS}Q", got[row])
        bad = [t for t in range(THREADS) if want[t] != have[t]]
        if bad:
            different += 1
            values = struct.unpack("<" + LAYOUT, data[bad[0] * STRIDE:(bad[0] + 1) * STRIDE])
            print(f"seed {seed}, f{k}: {len(bad)} of {THREADS} inputs differ, such as {values}: "
                  f"{have[bad[0]]:#x}, not {want[bad[0]]:#x}", flush=True)
            print(text[text.index(f"BOTH uint64_t f{k}("):].split("\nBOTH")[0].split("\nstruct Input")[0], flush=True)
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libcuda")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", type=int, default=40)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    if not shutil.which("nvcc"):
        print("skipped: no nvcc is on the PATH")
        return 77
    device = Device(options.libcuda)
    end, seed, different = time.monotonic() + options.seconds, options.seed, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        while seed == options.seed or time.monotonic() < end:
            different += one_round(device, seed, options.functions, folder)
            (folder / f"round{seed}.so").unlink()
            seed += 1
    rounds = seed - options.seed
    print(f"{rounds} rounds, {rounds * options.functions} functions of {THREADS} threads: {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
