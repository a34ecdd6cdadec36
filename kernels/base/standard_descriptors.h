// The descriptors 0 to 2.
#pragma once

namespace hotplate {

// Opens /dev/null on those that the parent closed. A file or a socket would otherwise get such a number, and what is
// meant for standard output would go into it. Reading standard input and writing standard output still fail then.
//
// Static objects of gRPC open descriptors before main begins: programs call it from .preinit_array, before them.
void OpenStandardDescriptors();

}  // namespace hotplate
