// The libraries in this program with their versions: what --version -v prints. Bug reports and security advisories ask
// for them.
#pragma once

#include <string>
#include <vector>

namespace hotplate::codec {

struct LibraryVersion {
  std::string name;     // "OpenSSL"
  std::string version;  // asked at run time; empty: the library does not tell
  std::string headers;  // compiled with; empty: as the version
};

// gRPC, Protocol Buffers, Abseil and OpenSSL, which the daemon and the command have alike; then the program's own; then
// the C library, the compiler and the type of the build.
std::vector<LibraryVersion> AllLibraries(const std::vector<LibraryVersion>& own);

// "1.51.1", "1.51.1 (headers 1.51.0)", or "3.21.12 (headers)".
std::string VersionText(const LibraryVersion& library);

// A line for each, in two columns.
std::string LibraryTable(const std::vector<LibraryVersion>& libraries);

}  // namespace hotplate::codec
