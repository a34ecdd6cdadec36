#include "tests/bench/peer_record.h"

#include <cstdio>
#include <fstream>
#include <iterator>

namespace hotplate::bench {

bool WritePeerRecord(const std::string& path, const PeerRecord& record) {
  const std::string draft = path + ".new";
  {
    std::ofstream out(draft);
    out << record.tls_port << '\n' << record.plain_socket << '\n' << record.certificate_pem;
    if (!out.flush()) return false;
  }
  return std::rename(draft.c_str(), path.c_str()) == 0;
}

std::optional<PeerRecord> ReadPeerRecord(const std::string& path) {
  std::ifstream in(path);
  PeerRecord record;
  if (!(in >> record.tls_port).ignore(1) || !std::getline(in, record.plain_socket)) return std::nullopt;
  record.certificate_pem.assign(std::istreambuf_iterator<char>(in), {});
  return record;
}

}  // namespace hotplate::bench
