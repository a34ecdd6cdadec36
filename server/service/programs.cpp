#include "server/service/programs.h"

#include <utility>

namespace hotplate::server {

absl::StatusOr<core::JobRequest> ProgramAsJob(const ServiceContext& context, const v1::Program& program,
                                              std::shared_ptr<ProgramStreams> streams) {
  const ServiceContext::ProgramSettings& settings = context.programs();
  if (settings.supervisor == nullptr) {
    return absl::PermissionDeniedError(
        "this daemon runs no code of yours: it was started with --user-code none (or expressions)");
  }
  absl::StatusOr<wire::ProgramRequest> request = wire::FromProto(program);
  if (!request.ok()) return request.status();
  if (absl::Status status = wire::FindOnNode(request->program, context.info().node()); !status.ok()) return status;
  request->program.umask = settings.umask;
  request->program.memory_bytes = settings.memory_bytes;
  request->job.work = std::make_shared<ProgramJob>(*settings.supervisor, request->kind, std::move(request->program),
                                                   std::move(streams));
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
