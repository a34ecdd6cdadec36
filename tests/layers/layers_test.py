#!/usr/bin/python3
"""The tree keeps to its layers, and the check that says so finds what is planted."""

import pathlib
import tempfile
import unittest

import check_layers

ROOT = pathlib.Path(__file__).resolve().parents[2]


class TreeTest(unittest.TestCase):
    def test_the_tree_keeps_to_its_layers(self):
        self.assertEqual(check_layers.check(ROOT), [])

    def test_every_folder_has_sources_to_check(self):
        found = check_layers.sources(ROOT)
        for folder in ("proto/codec", "kernels/array", "kernels/base", "kernels", "server/core", "server/journal", "client/lib"):
            self.assertTrue(any(file.startswith(folder + "/") for file in found), f"no sources in {folder}")
        found = check_layers.scripts(ROOT)
        for script in ("CMakeLists.txt", "client/cli/CMakeLists.txt", "deploy/bundle.sh", "deploy/cmake/Dependencies.cmake",
                       "client/python/CMakeLists.txt"):
            self.assertIn(script, found)


class PlantedTest(unittest.TestCase):
    """Each crossing is named with its file and line; what is allowed is not."""

    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_layers.check(root)

    def assert_found(self, file, text, line=2, **others):
        planted = {file: "// a first line\n" + text + "\n", **others.get("files", {})}
        problems = self.check(planted)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(f"{file}:{line}: "), problems[0])

    def assert_allowed(self, file, text, **others):
        self.assertEqual(self.check({file: text + "\n", **others.get("files", {})}), [])

    def test_array_includes_the_standard_library_only(self):
        self.assert_found("kernels/array/a.h", '#include "absl/status/status.h"')
        self.assert_found("kernels/array/a.h", '#include "kernels/spec/spec.h"')
        self.assert_found("kernels/array/a.cpp", "#include <cblas.h>")
        self.assert_found("kernels/array/a.cpp", '#include "kernels/base/status.h"')
        self.assert_allowed("kernels/array/a.cpp", '#include "kernels/base/mutex.h"')
        self.assert_allowed("kernels/array/a.cpp", '#include <span>\n#include <sys/stat.h>\n#include "kernels/array/b.h"')

    def test_kernels_know_no_wire_and_no_server(self):
        self.assert_found("kernels/catalogue/selu/selu.cpp", '#include "hotplate/v1/jobs.pb.h"')
        self.assert_found("kernels/catalogue/selu/selu.cpp", "#include <grpcpp/grpcpp.h>")
        self.assert_found("kernels/spec/spec.h", '#include "server/core/types.h"')
        self.assert_found("kernels/spec/spec.h", '#include "client/lib/client.h"')
        self.assert_found("kernels/devices/cpu/a.cpp", "#include <spdlog/spdlog.h>")
        self.assert_allowed("kernels/catalogue/matmul/matmul_cpu.cpp", '#include <cblas.h>\n#include "absl/strings/str_cat.h"')

    def test_what_nvcc_compiles_reaches_no_absl(self):
        self.assert_found("kernels/catalogue/selu/selu_cuda.cu", '#include "absl/status/status.h"')
        self.assert_found("kernels/catalogue/selu/selu_cuda.cu", '#include "kernels/a.h"', files={
            "kernels/a.h": '#include "kernels/b.h"\n', "kernels/b.h": '#include "absl/status/status.h"\n'})
        self.assert_found("kernels/catalogue/selu/selu_cuda.cu", '#include "kernels/base/mutex.h"', files={
            "kernels/base/mutex.h": '#include "absl/base/thread_annotations.h"\n'})
        self.assert_allowed("kernels/catalogue/selu/selu_cuda.cu", "#include <cuda_runtime.h>\n#include <cub/cub.cuh>")

    def test_the_core_knows_no_wire(self):
        for include in ('"hotplate/v1/jobs.pb.h"', "<google/protobuf/message.h>", "<grpcpp/grpcpp.h>",
                        "<spdlog/spdlog.h>", '"server/service/jobs.h"', '"client/lib/client.h"'):
            self.assert_found("server/core/engine.cpp", f"#include {include}")
        self.assert_allowed("server/core/engine.cpp", '#include "kernels/devices/device.h"\n#include "absl/status/status.h"')

    def test_the_server_does_not_know_the_client(self):
        self.assert_found("server/service/jobs.cpp", '#include "client/lib/client.h"')
        self.assert_allowed("server/service/jobs.cpp", "#include <grpcpp/grpcpp.h>\n#include <spdlog/spdlog.h>")

    def test_the_journal_is_a_leaf(self):
        for include in ('"server/core/types.h"', '"server/saved/job_ids.h"', '"hotplate/v1/jobs.pb.h"', "<grpcpp/grpcpp.h>",
                        '"kernels/spec/spec.h"', "<spdlog/spdlog.h>"):
            self.assert_found("server/journal/index.cpp", f"#include {include}")
        self.assert_allowed("server/journal/index.cpp", '#include "server/journal/records.h"\n#include "kernels/array/shape.h"\n'
                            "#include <SQLiteCpp/Database.h>\n#include <openssl/evp.h>")
        for file in ("server/durable/durable_jobs.cpp", "client/cli/commands/history.cpp"):
            self.assert_allowed(file, '#include "server/journal/journal.h"')
        for file in ("server/core/engine.cpp", "client/lib/client.cpp"):
            self.assert_found(file, '#include "server/journal/journal.h"')
        self.assert_found("client/cli/commands/history.cpp", "#include <sqlite3.h>")

    def test_the_client_library_knows_arrays_and_the_wire(self):
        for include in ('"server/core/types.h"', '"kernels/spec/spec.h"', '"client/cli/terminal/table.h"', "<spdlog/spdlog.h>"):
            self.assert_found("client/lib/client.cpp", f"#include {include}")
        self.assert_allowed("client/lib/client.cpp", '#include "kernels/array/npy.h"\n#include <grpcpp/grpcpp.h>\n'
                            '#include <openssl/evp.h>')
        self.assert_found("server/core/engine.cpp", "#include <openssl/evp.h>")

    def test_the_codec_knows_arrays_and_the_wire(self):
        for include in ('"kernels/base/status.h"', '"server/core/types.h"', '"client/lib/client.h"', "<spdlog/spdlog.h>"):
            self.assert_found("proto/codec/chunk.cpp", f"#include {include}")
        self.assert_allowed("proto/codec/chunk.cpp", '#include "kernels/array/npy.h"\n#include <grpcpp/grpcpp.h>\n'
                            "#include <openssl/crypto.h>\n"
                            '#include "hotplate/v1/arrays.pb.h"')
        for file in ("server/service/arrays.cpp", "client/lib/transfer.cpp", "client/cli/allocation/deaths.cpp"):
            self.assert_allowed(file, '#include "proto/codec/chunk.h"')
        for file in ("server/core/arrays.cpp", "kernels/devices/device.cpp"):
            self.assert_found(file, '#include "proto/codec/chunk.h"')

    def test_the_command_line_goes_through_the_library(self):
        for include in ('"server/core/types.h"', '"kernels/spec/spec.h"', "<grpcpp/grpcpp.h>"):
            self.assert_found("client/cli/run.cpp", f"#include {include}")
        self.assert_allowed("client/cli/run.cpp", '#include <CLI/CLI.hpp>\n#include "hotplate/v1/jobs.pb.h"')

    def test_programs_are_run_by_the_daemon_and_the_command(self):
        for include in ('#include "kernels/base/run_program.h"', '#include "kernels/base/slurm.h"'):
            for file in ("kernels/devices/device.cpp", "server/core/engine.cpp", "client/lib/client.cpp", "proto/codec/chunk.cpp"):
                self.assert_found(file, include)
            for file in ("kernels/base/slurm.cpp", "server/slurm/allocation_end.cpp", "client/cli/scheduler/slurm.cpp"):
                self.assert_allowed(file, include)
        self.assert_found("kernels/base/run_program.cpp", '#include "server/core/types.h"')
        self.assert_found("kernels/base/run_program.cpp", '#include "hotplate/v1/jobs.pb.h"')

    def test_a_path_beside_the_file_counts_from_the_root(self):
        self.assert_found("client/lib/a.cpp", '#include "../../server/core/types.h"',
                          files={"server/core/types.h": "#pragma once\n"})

    def test_the_product_reads_nothing_from_tests(self):
        self.assert_found("client/cli/CMakeLists.txt", "set(verified ${PROJECT_SOURCE_DIR}/tests/bench/verified_on.txt)")
        self.assert_found("deploy/cmake/Dependencies.cmake", "target_sources(a INTERFACE ${PROJECT_SOURCE_DIR}/tests/a.cpp)")
        self.assert_found("deploy/bundle.sh", 'install -m 755 tests/gpu/run "$tree/"')
        self.assert_found("client/python/tools/a.py", 'TEXT = open("../tests/a.txt").read()  # not a comment')
        self.assert_found("CMakeLists.txt", "include(tests/cmake/Tests.cmake)")
        self.assert_found("client/cli/a.cpp", '#include "tests/temporary_folder.h"')
        self.assert_allowed("CMakeLists.txt", "add_subdirectory(tests)")
        self.assert_allowed("deploy/cmake/Install.cmake", "# tests/install builds one.\ninstall(FILES a)  # tests/a reads it")
        self.assert_allowed("tests/run.sh", "tests/count_results.py")

    def test_what_grpc_would_swallow_is_not_thrown(self):
        self.assert_found("server/service/a.h", "  void OnReadDone(bool ok) override {")
        self.assert_found("server/service/a.h", "  void OnCancel() final;")
        self.assert_allowed("server/service/a.h", "  void OnReadDone(bool ok) noexcept override {\n  void OnDone() noexcept final {")

    def test_cuda_is_asked_about_in_its_own_folder_only(self):
        self.assert_found("server/service/a.cpp", "#ifdef HOTPLATE_CUDA")
        self.assert_found("kernels/devices/device.h", "#if defined(HOTPLATE_WITH_CUDA) && __CUDACC__")
        self.assert_allowed("kernels/devices/cuda/loader/loader.cpp", "#ifdef HOTPLATE_CUDA")
        self.assert_allowed("kernels/catalogue/selu/selu.h", "#ifdef __CUDACC__\n#if __CUDA_ARCH__ >= 800")


if __name__ == "__main__":
    unittest.main()
