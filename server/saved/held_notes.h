// Writes down now and then what the daemon holds, for whoever comes after one that was killed, and reads what other
// daemons have written about their job ids. On a thread of its own, which may wait for the file system.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "server/core/engine.h"
#include "server/saved/job_ids.h"

namespace hotplate::server {

class HeldNotes {
 public:
  // Both must outlive this. `failed` is told what could not be written, on the thread.
  HeldNotes(core::Engine& engine, JobIds& ids, std::function<void(const std::string&)> failed);

 private:
  void Run(const std::stop_token& stop);

  core::Engine& engine_;
  JobIds& ids_;
  const std::function<void(const std::string&)> failed_;
  std::jthread thread_;
};

}  // namespace hotplate::server
