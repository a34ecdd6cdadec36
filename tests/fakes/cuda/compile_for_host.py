#!/usr/bin/python3
"""In the place of hotplate-nvrtc (kernels/devices/cuda/compiler/hotplate_nvrtc.cpp): compiles the text of a printed
expression for the host, as the code that the fake driver loads (fake_modules.cpp). A function with barriers has a thread
of the host's for each of a block's.

usage: compile_for_host.py LIBRARY MOST_BYTES OPTION... < text.cu > text.so
HOTPLATE_HOST_COMPILER and HOTPLATE_SOURCE_DIR are of the environment.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HEAD = """
#include <barrier>
#include <thread>
#include <vector>
#define HOTPLATE_THREADS_OF_THE_HOST
#include "tests/unit/cuda/expressions/printed_device.h"
thread_local EmulatedIndex threadIdx, blockIdx, gridDim;
static std::barrier<>* the_barrier;
void __syncthreads() { the_barrier->arrive_and_wait(); }
template <typename Body>
void RunGrid(unsigned blocks, unsigned threads, bool barriers, const Body& body) {
  for (unsigned block = 0; block < blocks; ++block) {
    const auto one = [&](unsigned thread) {
      blockIdx.x = block, gridDim.x = blocks, threadIdx.x = thread;
      body();
    };
    if (!barriers) {
      for (unsigned thread = 0; thread < threads; ++thread) one(thread);
      continue;
    }
    std::barrier<> barrier(threads);
    the_barrier = &barrier;
    std::vector<std::jthread> all;
    for (unsigned thread = 0; thread < threads; ++thread) all.emplace_back(one, thread);
  }
}
"""


def main():
    source = sys.stdin.read()
    if "#error" in source:
        print("NVRTC_ERROR_COMPILATION: expression.cu(1): error", file=sys.stderr)
        return 1
    by_pointer = "const P* const block" in source
    tail = f'extern "C" const U64 hotplate_parameter_bytes = {"8" if by_pointer else "sizeof(P)"};\n'
    for name in re.findall(r'extern "C" __global__ void (?:__launch_bounds__\(256\) )?(\w+)\(', source):
        barriers = "true" if name.startswith(("fold_", "merge_")) else "false"
        given = "*(const P* const*)p[0]" if by_pointer else "*(const P*)p[0]"
        tail += (f'extern "C" void run_{name}(void** p, unsigned blocks, unsigned threads) {{\n'
                 f"  RunGrid(blocks, threads, {barriers}, [&] {{ {name}({given}, *(U64*)p[1], *(U64*)p[2]); }});\n}}\n")
    with tempfile.TemporaryDirectory() as folder:
        text, built = pathlib.Path(folder, "text.cpp"), pathlib.Path(folder, "text.so")
        text.write_text(HEAD + source + tail)
        command = [*os.environ.get("HOTPLATE_HOST_COMPILER", "g++").split(), "-std=c++20", "-O1", "-w", "-ffp-contract=off",
                   "-fno-strict-aliasing", "-fPIC", "-shared", "-pthread", "-I", os.environ["HOTPLATE_SOURCE_DIR"], str(text), "-o",
                   str(built)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"NVRTC_ERROR_COMPILATION: {done.stderr[:2000]}", file=sys.stderr)
            return 1
        sys.stdout.buffer.write(built.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
