#include "server/service/programs.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace hotplate::server {
namespace {

// The processor's threads that this process may use, divided among the lanes of all GPUs.
int ThreadsBesideGpu(const ServiceContext& context) {
  int lanes = 0;
  for (const auto& [id, device] : context.facts().devices) lanes += device.uuid.empty() ? 0 : device.lanes;
  cpu_set_t usable;
  const int threads = sched_getaffinity(0, sizeof(usable), &usable) == 0 ? CPU_COUNT(&usable) : 1;
  return std::max(1, threads / std::max(1, lanes));
}

}  // namespace

absl::StatusOr<core::JobRequest> ProgramAsJob(const ServiceContext& context, const v1::Program& program,
                                              std::shared_ptr<ProgramStreams> streams) {
  const ServiceContext::ProgramSettings& settings = context.programs();
  if (settings.supervisor == nullptr) {
    return absl::PermissionDeniedError("this daemon runs no code of yours: it was started with --user-code none");
  }
  if (!settings.supervisor->alive()) {
    return absl::UnavailableError(
        "the daemon can start no programs any more, since their supervisor was killed: restart it");
  }
  absl::StatusOr<wire::ProgramRequest> request = wire::FromProto(program);
  if (!request.ok()) return request.status();
  if (absl::Status status = wire::FindOnNode(request->program, context.info().node()); !status.ok()) return status;
  request->program.umask = settings.umask;
  request->program.memory_bytes = settings.memory_bytes;
  request->program.threads_beside_gpu = ThreadsBesideGpu(context);
  request->job.work = std::make_shared<ProgramJob>(*settings.supervisor, settings.pythons, request->kind,
                                                   std::move(request->program), std::move(streams));
  return std::move(request->job);
}

void AppendTo(const OutputPiece& piece, v1::ProgramPiece& out) {
  if (piece.stream == OutputStream::kOut) {
    out.set_out(piece.text);
  } else {
    out.set_err(piece.text);
  }
}

}  // namespace hotplate::server
