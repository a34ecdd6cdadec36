// Work of a user's that prints: what it has printed is kept with the job.
#pragma once

#include <memory>

#include "server/core/run/outside_work.h"
#include "server/workers/program_streams.h"

namespace hotplate::server {

class PrintingWork : public core::OutsideWork {
 public:
  virtual const std::shared_ptr<ProgramStreams>& streams() const = 0;
};

}  // namespace hotplate::server
