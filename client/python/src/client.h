// _core.Client: the library's client for Python. Every call releases the GIL while it waits or copies.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "client/lib/client.h"
#include "client/python/src/async_call.h"
#include "client/python/src/deliveries.h"
#include "client/python/src/forks.h"
#include "client/python/src/last_result.h"
#include "client/python/src/options.h"
#include "client/python/src/releaser.h"

namespace hotplate::python {

// The result of a job. Its arrays can be taken once, so that a receipt does not keep their memory.
class Result {
 public:
  explicit Result(client::JobResult result) : Result(std::make_shared<client::JobResult>(std::move(result))) {}
  explicit Result(std::shared_ptr<client::JobResult> result) : result_(std::move(result)) {}

  const std::shared_ptr<client::JobResult>& shared() const { return result_; }
  const std::string& job_id() const { return result_->job_id; }
  // A NumPy array; (id, dtype, shape) of an array that stays on the daemon; None if it has a destination or was taken
  // before.
  pybind11::object Take(const std::string& output);
  pybind11::list Outputs() const;
  pybind11::dict Receipt() const;
  const std::string& warning() const { return result_->receipt.warning(); }
  // The client's own part: seconds and bytes.
  pybind11::dict Timings() const;
  // Counts, failures and incomplete tasks of a sweep, as hotplate.v1.SweepOutcome has them; else None.
  pybind11::object Sweep() const;

 private:
  const std::shared_ptr<client::JobResult> result_;
};

class PyClient {
 public:
  explicit PyClient(client::Client client);
  ~PyClient();
  PyClient(const PyClient&) = delete;
  PyClient& operator=(const PyClient&) = delete;

  // The client, for one call; release it with the GIL. RuntimeError: closed, or belongs to the parent of this forked
  // process.
  std::shared_ptr<client::Client> Get() const;
  // Frees arrays passed to ReleaseLater and ends calls in flight; when it returns, Python has been told of their ends.
  // A second call does nothing.
  void Close();
  bool closed() const { return !client_; }
  // RuntimeError if waiting for a call in flight would never end: after a fork, and on the delivering thread.
  void CheckMayWait() const;

  // The last successful call on this thread; null if there is none.
  std::unique_ptr<Result> Last() const;
  void Remember(const Result& result) const { last_.Set(result.shared()); }

  std::unique_ptr<Result> Run(const std::string& kernel, const pybind11::dict& inputs, const Options& options,
                              const client::Cancellation* cancellation) const;
  std::shared_ptr<AsyncCall> RunAsync(const std::string& kernel, const pybind11::dict& inputs, const Options& options,
                                      const client::Cancellation* cancellation, const pybind11::object& done) const;
  std::string Submit(const std::string& kernel, const pybind11::dict& inputs, const Options& options,
                     const client::Cancellation* cancellation) const;
  pybind11::dict Check(const std::string& kernel, const pybind11::dict& inputs, const Options& options) const;

  pybind11::dict Put(const pybind11::object& array, const std::string& name, std::optional<double> lease, bool replace,
                     const std::string& device, const pybind11::object& on_upload,
                     const client::Cancellation* cancellation) const;
  pybind11::object GetArray(const std::string& id, const pybind11::object& on_download,
                            const client::Cancellation* cancellation) const;
  // Reads into the caller's array: the whole array, or, with an offset in bytes, as much as the destination holds.
  void GetInto(const std::string& id, const pybind11::object& destination, std::optional<std::uint64_t> offset,
               const pybind11::object& on_download, const client::Cancellation* cancellation) const;

  std::unique_ptr<Result> Wait(const std::string& job_id, const client::Cancellation* cancellation) const;
  std::unique_ptr<Result> Fetch(const std::string& job_id, const pybind11::object& on_download,
                                const client::Cancellation* cancellation) const;
  pybind11::dict Watch(const std::string& job_id, const pybind11::object& on_update,
                       const client::Cancellation* cancellation) const;
  void WatchTelemetry(double interval, const pybind11::object& on_sample,
                      const client::Cancellation* cancellation) const;

  // Owns an array to which only this process has a handle: it is freed when it is released or the client is closed.
  // Also for calls that end while the client is being closed.
  void Own(const std::string& id) const {
    if (UsedBeforeFork() || !releaser_) static_cast<void>(Get());  // says why not
    releaser_->Own(id);
  }
  void Disown(const std::string& id) const {
    if (Get()) releaser_->Disown(id);
  }
  // Does not wait: a thread frees it.
  void ReleaseLater(const std::string& id) const {
    // client_ goes first, and with the GIL.
    if (!UsedBeforeFork() && client_) releaser_->Release(id);
  }

  // The same for arrays that a call of `client` has just left; if it was closed meanwhile, they are freed here.
  void Hold(client::Client& client, const std::vector<std::string>& ids) const;
  // Frees arrays that nobody here knows; does not wait.
  void Drop(const std::vector<std::string>& ids) const;

 private:
  // Raises the call's error.
  std::unique_ptr<Result> Remembered(absl::StatusOr<client::JobResult> result) const;

  std::shared_ptr<client::Client> client_;
  std::unique_ptr<Releaser> releaser_;
  const std::shared_ptr<Flights> flights_;
  const std::shared_ptr<Deliveries> deliveries_;
  // Cancellations of endless streams; guarded by the GIL.
  mutable std::list<client::Cancellation> watches_;
  const LastResult last_;
};

void BindClient(pybind11::module_& module);

}  // namespace hotplate::python
