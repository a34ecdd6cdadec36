// The daemon's libraries with their versions, for --version -v.
#pragma once

#include <vector>

#include "proto/codec/library_versions.h"

namespace hotplate::server {

std::vector<codec::LibraryVersion> Libraries();

}  // namespace hotplate::server
