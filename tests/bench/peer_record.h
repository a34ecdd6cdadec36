// How bench's bare server tells where it listens: a small text file, written atomically when it is ready to serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hotplate::bench {

// Bytes of one message of the peer's bulk transfers. Hotplate's downloads use the same, its uploads half of it.
inline constexpr std::size_t kChunkBytes = 2 << 20;
// The name in the bare server's certificate.
inline constexpr const char* kPeerName = "peer";
// Metadata of an upload: how many bytes will come, so that the receiver can allocate once.
inline constexpr const char* kUploadBytesKey = "upload-bytes";

struct PeerRecord {
  int tls_port = 0;
  std::string plain_socket;  // a unix socket, as Hotplate's is where it has no TLS
  std::string certificate_pem;
};

bool WritePeerRecord(const std::string& path, const PeerRecord& record);
std::optional<PeerRecord> ReadPeerRecord(const std::string& path);

}  // namespace hotplate::bench
