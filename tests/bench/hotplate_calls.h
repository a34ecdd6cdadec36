// Hotplate's calls as the benchmarks make them, through its client library. What goes wrong ends the program with a
// sentence: half a measurement is none.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/lib/client.h"

namespace hotplate::bench {

// A client of the daemon of that name in $HOTPLATE_DIR.
client::Client Connect(const std::string& server);

// The smallest job there is: vector_add of 4 float32, inline, receipt on.
class SmallestJob {
 public:
  explicit SmallestJob(client::Client& client);

  void OnTheStream() { Check(client_.Run("vector_add", inputs_)); }
  void AsUnary() { Check(client_.Execute("vector_add", inputs_)); }
  // With so many on their way at a time.
  double PipelinedPerSecond(int jobs, int window);

 private:
  void Check(const absl::StatusOr<client::JobResult>& result) const;

  client::Client& client_;
  const std::vector<float> elements_ = {1, 2, 3, 4};
  std::map<std::string, client::Input> inputs_;
  std::string output_;
};

// A job that would run for minutes or hours, of a kernel that promises to end soon after it is asked to.
class LongJob {
 public:
  // The daemon holds the inputs meanwhile.
  LongJob(client::Client& client, const std::string& kernel, const client::JobOptions& options,
          const std::map<std::string, client::ArrayView>& inputs = {});
  ~LongJob();
  LongJob(const LongJob&) = delete;
  LongJob& operator=(const LongJob&) = delete;

  // The slowest of so many: from the request, made when the job shows progress or a while later, each at another time,
  // to its end as the client hears of it. In milliseconds, as is what the kernel promises.
  double SlowestCancel(int cancels);
  double promised() const { return promised_; }

 private:
  double Cancel(std::chrono::milliseconds after_progress);

  client::Client& client_;
  const std::string kernel_;
  const client::JobOptions options_;
  const double promised_;
  std::map<std::string, client::Input> inputs_;  // references to arrays
};

// So many bytes of float32, and an array of them that the daemon holds. On huge pages where the system has them, as
// NumPy's large arrays are: the Python package is measured beside this.
class Bulk {
 public:
  Bulk(client::Client& client, std::size_t bytes);
  ~Bulk();
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // GB/s, each way. Freeing is not part of an upload's time.
  double Upload();
  double Download();
  // As Download, but into memory that the library makes for it.
  double DownloadIntoNew();

  std::span<const char> source() const { return {reinterpret_cast<const char*>(up_->data()), up_->size()}; }
  std::span<char> destination() { return {reinterpret_cast<char*>(down_->data()), down_->size()}; }
  double Rate(const std::function<void()>& transfer) const;

 private:
  std::string Put();

  client::Client& client_;
  const std::shared_ptr<HostBuffer> up_, down_;
  std::string kept_;
};

}  // namespace hotplate::bench
