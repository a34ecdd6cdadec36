// Writes the catalogue's kernels and their spec hashes as a C++ header for the plug-in, which is compiled without the
// specs. Runs at build time: write_spec_hashes FILE. An unchanged file is left alone, so that nothing is rebuilt.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "kernels/catalogue/expression/expression_spec.h"
#include "kernels/spec/spec.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: hotplate_write_spec_hashes FILE\n";
    return 2;
  }
  std::ostringstream text;
  text << "// Generated from the catalogue.\n#pragma once\n\n#include \"kernels/devices/cuda/plugin/plugin_abi.h\"\n\n"
       << "namespace hotplate {\n\ninline constexpr hotplate_cuda_kernel kSpecHashes[] = {\n";
  const auto row = [&text](const std::string& name, const std::string& hash) {
    text << "    {\"" << name << "\", \"" << hash << "\", nullptr, nullptr},\n";
  };
  for (const hotplate::SharedSpec& spec : hotplate::BuiltinCatalog().specs()) row(spec->name(), spec->Hash());
  row(hotplate::expression::kKernel, hotplate::expression::SpecHash());
  text << "};\n\n}  // namespace hotplate\n";

  std::ostringstream old;
  if (const std::ifstream before(argv[1]); before) old << before.rdbuf();
  if (old.str() == text.str()) return 0;
  std::ofstream file(argv[1], std::ios::trunc);
  file << text.str();
  file.close();
  if (!file) {
    std::cerr << "hotplate_write_spec_hashes: cannot write " << argv[1] << "\n";
    return 1;
  }
  return 0;
}
