// The reactor of a call that is refused before it begins.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "server/wire/status.h"

namespace hotplate::server {

// `Reactor`: the type that the method's handler returns.
template <typename Reactor>
class Refusal final : public Reactor {
 public:
  explicit Refusal(const absl::Status& status) { this->Finish(wire::ToGrpc(status)); }
  void OnDone() noexcept override { delete this; }
};

}  // namespace hotplate::server
