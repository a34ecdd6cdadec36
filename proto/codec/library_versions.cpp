#include "proto/codec/library_versions.h"

#include <google/protobuf/stubs/common.h>
#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/version_info.h>
#include <openssl/crypto.h>
#include <openssl/opensslv.h>
#include <unistd.h>

#include <algorithm>

#include "absl/base/config.h"

namespace hotplate::codec {
namespace {

// 3021012: 3.21.12.
std::string ProtobufText(int version) {
  return std::to_string(version / 1'000'000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

// Its releases have no versions, apart from those with long-term support.
std::string AbseilHeaders() {
#ifdef ABSL_LTS_RELEASE_VERSION
  return std::to_string(ABSL_LTS_RELEASE_VERSION) + "." + std::to_string(ABSL_LTS_RELEASE_PATCH_LEVEL);
#else
  return "between two releases";
#endif
}

// "glibc 2.36"; empty with another library.
std::string RunningCLibrary() {
  char text[64];
  const std::size_t size = confstr(_CS_GNU_LIBC_VERSION, text, sizeof text);
  return size > 0 && size <= sizeof text ? text : "";
}

std::string CLibraryHeaders() { return "glibc " + std::to_string(__GLIBC__) + "." + std::to_string(__GLIBC_MINOR__); }

std::string CompilerText() {
#ifdef __clang__
  return __VERSION__;  // begins with its name
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

}  // namespace

std::vector<LibraryVersion> AllLibraries(const std::vector<LibraryVersion>& own) {
  std::vector<LibraryVersion> all = {
      {"gRPC", grpc::Version(), GRPC_CPP_VERSION_STRING},
      {"gRPC core", grpc_version_string(), ""},
      {"Protocol Buffers", "", ProtobufText(GOOGLE_PROTOBUF_VERSION)},
      {"Abseil", "", AbseilHeaders()},
      {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING), OPENSSL_VERSION_STR},
  };
  all.insert(all.end(), own.begin(), own.end());
  all.push_back({"C library", RunningCLibrary(), CLibraryHeaders()});
  all.push_back({"compiler", CompilerText(), ""});
  all.push_back({"build", HOTPLATE_BUILD_TYPE, ""});
  return all;
}

std::string VersionText(const LibraryVersion& library) {
  if (library.version.empty()) return library.headers + " (headers)";
  if (library.headers.empty() || library.headers == library.version) return library.version;
  return library.version + " (headers " + library.headers + ")";
}

std::string LibraryTable(const std::vector<LibraryVersion>& libraries) {
  std::size_t width = 0;
  for (const LibraryVersion& library : libraries) width = std::max(width, library.name.size());
  std::string text;
  for (const LibraryVersion& library : libraries) {
    text += "  " + library.name + std::string(width + 2 - library.name.size(), ' ') + VersionText(library) + "\n";
  }
  return text;
}

}  // namespace hotplate::codec
