// The engine's reports as messages: updates, ends, receipts, jobs, arrays, telemetry, devices.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hotplate/v1/arrays.pb.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/server.pb.h"
#include "hotplate/v1/telemetry.pb.h"
#include "server/core/engine.h"
#include "server/core/run/telemetry.h"

namespace hotplate::wire {

// The facts that every receipt repeats: the devices and the versions. Immutable.
struct ReceiptFacts {
  std::map<std::string, DeviceInfo> devices;  // by id
  v1::Versions versions;
};

void ToProto(const core::JobReceipt& receipt, const core::JobId& id, const std::string& kernel,
             const ReceiptFacts& facts, v1::Receipt& out);

// The outputs of the end (inline data are copied), and its receipt, if there is one.
void ToProto(const core::JobEnd& end, const core::JobId& id, const std::string& kernel, const ReceiptFacts& facts,
             v1::JobEnd& out);
void ToProto(const core::JobEnd& end, const core::JobId& id, const std::string& kernel, const ReceiptFacts& facts,
             v1::FetchResultResponse& out);

void ToProto(const core::StateChange& event, v1::StateChange& out);
void ToProto(const core::JobSnapshot& job, const ReceiptFacts& facts, v1::Job& out);
void ToProto(const core::CheckReport& report, v1::CheckJobResponse& out);
void ToProto(const core::WhyReport& report, const ReceiptFacts& facts, v1::WhyJobResponse& out);
void ToProto(const core::ArraySnapshot& array, v1::Array& out);
void ToProto(const core::TelemetrySample& sample, v1::TelemetrySample& out);
void ToProto(const DeviceInfo& device, const std::string& lost, v1::Device& out);

inline v1::JobState ToProto(core::JobState state) { return static_cast<v1::JobState>(state); }

// Rough size of an end on the wire, by which batches are bounded.
std::size_t InlineBytes(const core::JobEnd& end);

}  // namespace hotplate::wire
