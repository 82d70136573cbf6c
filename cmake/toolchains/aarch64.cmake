# SPDX-License-Identifier: Apache-2.0
# Debian's cross compiler for 64-bit ARM (Grace), and qemu to run the result: ./dev aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
# Headers fit all architectures; this machine's compiled packages do not.
set(CMAKE_PREFIX_PATH "/usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake")
set(CMAKE_DISABLE_FIND_PACKAGE_rapidcheck ON)
