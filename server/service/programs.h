// Shared by the calls of hotplate.v1.Programs.
#pragma once

#include <memory>

#include "server/service/context.h"
#include "server/wire/job.h"
#include "server/wire/program.h"
#include "server/workers/function_table.h"
#include "server/workers/program_streams.h"

namespace hotplate::server {

// OK if the daemon can run programs. PERMISSION_DENIED: it runs no code of users; UNAVAILABLE: its supervisor is gone.
absl::Status RunsPrograms(const ServiceContext::ProgramSettings& settings);

// The program as a job that can be submitted. Looks at files, and may wait for them. PERMISSION_DENIED: the daemon runs
// no code of users; else as wire::FromProto and wire::FindOnNode.
absl::StatusOr<core::JobRequest> ProgramAsJob(const ServiceContext& context, const v1::Program& program,
                                              std::shared_ptr<ProgramStreams> streams);

// A job spec as a request to the engine: of a kernel, or of a function of the caller's. PERMISSION_DENIED: the caller
// may not run code, or the daemon runs none; NOT_FOUND: it has not the function; else as wire::FromProto.
absl::StatusOr<core::JobRequest> JobAsRequest(const ServiceContext& context, const core::Principal& who,
                                              const v1::JobSpec& spec, wire::SignatureInputs signature_inputs);

// For ServiceContext::PostForEnvironments: looks at files, and asks the interpreter. Refuses as ProgramAsJob.
absl::StatusOr<FunctionEnvironment> OpenEnvironment(const ServiceContext& context, const v1::Program& python,
                                                    v1::OpenEnvironmentResponse& response);
absl::StatusOr<FunctionCode> FunctionFrom(const ServiceContext& context, const v1::PutFunctionRequest& request);

// Of a program or a function: all outside work is one of these.
const std::shared_ptr<ProgramStreams>& StreamsOf(const core::OutsideWork& work);

}  // namespace hotplate::server
