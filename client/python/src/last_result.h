// The last successful job of each client and thread, for `last_receipt`.
#pragma once

#include <cstdint>
#include <memory>

#include "client/lib/client.h"

namespace hotplate::python {

class LastResult {
 public:
  LastResult();

  // For the calling thread; null if there is none. A thread remembers a few clients, and drops the longest unused.
  void Set(std::shared_ptr<client::JobResult> result) const;
  std::shared_ptr<client::JobResult> Get() const;

 private:
  const std::uint64_t client_;
};

}  // namespace hotplate::python
