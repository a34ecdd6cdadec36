// What programs print, read from their pipes, and their ends in words.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "kernels/base/descriptor.h"
#include "server/workers/program.h"
#include "server/workers/program_streams.h"

namespace hotplate::server {

// Reads what there is, at most a block. False: there is nothing now. Closes `from` at the stream's end.
bool ReadSome(Descriptor& from, OutputStream stream, ProgramStreams& streams);

// OK if it ended well.
absl::Status ErrorOf(const ProgramEnd& end, const std::string& name, std::uint64_t memory_bytes);

}  // namespace hotplate::server
