// Regularly writes down what the daemon holds, to explain its loss if it is killed, and reads other daemons' notes on
// their job ids. Runs on a thread of its own, which may wait for the file system.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "server/core/engine.h"
#include "server/saved/job_ids.h"
#include "server/saved/saved_arrays.h"

namespace hotplate::server {

class HeldNotes {
 public:
  // Both must outlive this. `failed` is called on the thread with the error of a failed write.
  HeldNotes(core::Engine& engine, JobIds& ids, ArraySaver& saver, std::function<void(const std::string&)> failed);

 private:
  void Run(const std::stop_token& stop);

  core::Engine& engine_;
  JobIds& ids_;
  ArraySaver& saver_;
  const std::function<void(const std::string&)> failed_;
  std::jthread thread_;
};

}  // namespace hotplate::server
