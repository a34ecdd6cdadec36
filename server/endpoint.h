// The endpoint record: how clients find a daemon. One folder (HOTPLATE_DIR) that only its owner can read:
//   servers/<name>.lock   locked by the daemon for its life; holds its pid
//   servers/<name>.json   the record: address, certificate, token
//   current               link to the record of the daemon that was started last
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::server {

// A name in a folder, held by this process. Move-only; destruction withdraws the record and lets the name go.
class EndpointSlot {
 public:
  // Makes the folders (0700) where they are missing and takes the name. PERMISSION_DENIED if others can read or
  // write a folder (with the chmod that mends it); ALREADY_EXISTS, with the pid, if another daemon has the name.
  static absl::StatusOr<EndpointSlot> Claim(const std::string& directory, const std::string& name);

  EndpointSlot(EndpointSlot&& other) noexcept;
  EndpointSlot& operator=(EndpointSlot&&) = delete;
  ~EndpointSlot();

  // Writes the record (0600, all or nothing) and points `current` at it.
  absl::Status Publish(const v1::EndpointRecord& record);
  // Removes record and link if they are still those of this daemon's generation.
  void Withdraw();

  const std::string& record_path() const { return record_path_; }

 private:
  EndpointSlot(std::string directory, std::string name, int lock);

  std::string directory_, name_, record_path_;
  std::string generation_;  // of the published record; empty: none
  int lock_ = -1;
};

// The record at `path`, or why there is none. For tests and for Withdraw; clients have their own reader.
absl::StatusOr<v1::EndpointRecord> ReadEndpointRecord(const std::string& path);

}  // namespace hotplate::server
