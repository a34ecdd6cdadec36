// From a request to a job that can be queued: everything that can be said against it is said here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/status.h"
#include "kernels/catalogue/expression/expression_spec.h"
#include "server/core/allowances.h"
#include "server/core/arrays/arrays.h"
#include "server/core/jobs/catalogues.h"
#include "server/core/schedule/room.h"
#include "server/core/types.h"

namespace hotplate::core {

struct BoundInput {
  // One of the two; neither where Check was given a signature alone, and where another job has yet to make it.
  std::shared_ptr<const HostBuffer> buffer;
  std::shared_ptr<const NpyFile> file;
  std::string stored = {};  // the path of a StoredArray
  bool pending = false;     // another job has yet to make it
  // In memory of the client's or in a file: the daemon's will be needed for it.
  bool is_elsewhere() const { return buffer == nullptr && !pending; }
};

struct BoundOutput {
  std::uint64_t bytes = 0;  // at most
  bool keep = false;
  bool for_jobs = false;  // JobOutput::for_jobs
  std::optional<nanoseconds> lease;
  ArrayStore::NameHold name;
  std::shared_ptr<PlacedFile> file = {};  // null: none
  // As an array, on its device where that has memory of its own.
  bool stays() const { return keep || for_jobs; }
};

// Everything in the spec's order.
struct BoundJob {
  SharedSpec spec;  // of the call
  BoundCall call;
  std::vector<BoundInput> inputs;
  std::vector<BoundOutput> outputs;
  std::vector<DeviceNeed> needs;
  std::string device;         // that was asked for, or that the inputs are on: its kept outputs are too; empty: any
  std::uint64_t turn = 0;     // QueueEntry::turn
  std::uint32_t workers = 0;  // QueueEntry::workers
  // Why it can never run, where that is known: no device that it may run on is large enough.
  std::string refusal;
};

// Whether jobs of a token with this allowance (null: without bounds) may run on the device.
bool MayUse(const Allowance* allowance, const Device& device);
// PERMISSION_DENIED, with the devices that the token may use, if `id` is another one, or if none of them is here.
// `id`: empty or kAnyDevice is any; one that is not here is left to NoSuchDevice.
absl::Status CheckMayUse(const std::vector<std::unique_ptr<Device>>& devices, const std::string& token,
                         const Allowance* allowance, const std::string& id);
// INVALID_ARGUMENT, with the devices that there are.
absl::Status NoSuchDevice(const std::vector<std::unique_ptr<Device>>& devices, const std::string& id);

class Binder {
 public:
  // `devices` and the rest outlive the binder. `workers`, `allowances`: as in EngineOptions.
  Binder(Catalogues catalogues, ArrayStore& arrays, const std::vector<std::unique_ptr<Device>>& devices,
         std::uint32_t workers = 0, std::shared_ptr<const Allowances> allowances = nullptr);

  const Catalogues& catalogues() const { return catalogues_; }

  enum class Data { kRequired, kSignaturesSuffice };
  // Devices in `lost` (a text by the device's place, empty while it is healthy; nothing at all if all are) are not
  // considered.
  // Only devices that the token may use are considered; PERMISSION_DENIED as by CheckMayUse.
  // A job that asks for no device gets the one that its inputs are on (ArraySnapshot::device); INVALID_ARGUMENT if they
  // are on two. Moves the data of the request's inputs to the job. Refusals name their fields; INVALID_ARGUMENT names
  // every wrong field. With kSignaturesSuffice a job that fits no device is bound all the same: its refusal tells, and
  // its needs.
  absl::StatusOr<BoundJob> Bind(const Principal& who, JobRequest& request, Data data,
                                const std::vector<std::string>& lost) const;
  // For a job that cannot be bound yet, since an input is not known: opens the arrays that it takes, checks what can be
  // checked, and returns its spec, or one that has its name alone.
  absl::StatusOr<SharedSpec> PrepareUnbound(const Principal& who, JobRequest& request) const;

  static absl::Status CheckRequestId(const JobRequest& request);
  // The limits of time, against the end of the allocation.
  static absl::Status CheckTimeLimit(const JobRequest& request, std::optional<WallTime> allocation_end,
                                     nanoseconds end_margin, WallTime now);

 private:
  absl::Status ResolveInputs(const Principal& who, JobRequest& request, Data data,
                             std::vector<FieldViolation>& violations) const;
  absl::Status BindOutputs(const Principal& who, const JobRequest& request, BoundJob& job,
                           std::vector<FieldViolation>& violations) const;
  // The spec of a kernel of the catalogue or of work, whatever its inputs.
  absl::StatusOr<SharedSpec> KnownSpec(const Principal& who, const JobRequest& request) const;
  absl::StatusOr<SharedSpec> ExpressionSpec(const JobRequest& request,
                                            const std::map<std::string, Signature>& signatures) const;
  static absl::Status PlaceWork(const Principal& who, JobRequest& request, BoundJob& job);
  absl::Status PlanDevices(const Principal& who, const JobRequest& request, Data data,
                           const std::vector<std::string>& lost, BoundJob& job) const;
  // Refuses more places for workers than its devices have; devices without any give a lane.
  absl::Status CheckWorkers(const JobRequest& request, BoundJob& job) const;
  std::string HowOnTheCpu(const Allowance* allowance) const;
  std::shared_ptr<const Allowance> AllowanceOf(const Principal& who) const {
    return allowances_ == nullptr ? nullptr : allowances_->Of(who.token);
  }

  const Catalogues catalogues_;
  ArrayStore& arrays_;
  const std::vector<std::unique_ptr<Device>>& devices_;
  const std::uint32_t workers_;
  const std::shared_ptr<const Allowances> allowances_;
  mutable expression::ExpressionSpecs expressions_;  // thread-safe
};

}  // namespace hotplate::core
