// The command's libraries with their versions, for --version -v.
#pragma once

#include <vector>

#include "proto/codec/library_versions.h"

namespace hotplate::cli {

std::vector<codec::LibraryVersion> Libraries();

}  // namespace hotplate::cli
