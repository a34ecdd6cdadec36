// Shared by the calls of hotplate.v1.Programs.
#pragma once

#include <memory>

#include "server/service/context.h"
#include "server/wire/program.h"
#include "server/workers/program_streams.h"

namespace hotplate::server {

// The program as a job that can be submitted. Looks at files, and may wait for them. PERMISSION_DENIED: the daemon runs
// no code of users; else as wire::FromProto and wire::FindOnNode.
absl::StatusOr<core::JobRequest> ProgramAsJob(const ServiceContext& context, const v1::Program& program,
                                              std::shared_ptr<ProgramStreams> streams);

void AppendTo(const OutputPiece& piece, v1::ProgramPiece& out);

}  // namespace hotplate::server
