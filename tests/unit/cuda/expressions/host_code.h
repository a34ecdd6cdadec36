// The text of a printed expression (kernels/expression/cuda_text.h) as code of the host: compiled by the host's
// compiler, loaded, and run with every thread of a block as a fiber (grid.h).
#pragma once

#include <string>

namespace hotplate::emulation {

class HostCode {
 public:
  // Writes to `folder`: text.cu, and the shared object.
  HostCode(const std::string& source, const std::string& folder);
  ~HostCode();
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

  // Why there is no code; empty if there is.
  const std::string& error() const { return error_; }
  // `parameters`: their addresses, as cuLaunchKernel takes them. False: there is no such function.
  bool Run(const std::string& function, unsigned blocks, unsigned threads, void** parameters) const;

 private:
  void* opened_ = nullptr;
  std::string error_;
};

}  // namespace hotplate::emulation
