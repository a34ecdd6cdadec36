// A program from the wire. What is checked here is the form; whether the node has the program and its folder,
// FindOnNode says, which touches the file system and may therefore wait.
#pragma once

#include "absl/status/statusor.h"
#include "hotplate/v1/programs.pb.h"
#include "server/core/types.h"
#include "server/journal/sha256.h"
#include "server/workers/program_job.h"

namespace hotplate::wire {

struct ProgramRequest {
  server::Program program;  // its `file` as it was asked for, until FindOnNode
  server::ProgramJob::Kind kind = server::ProgramJob::Kind::kExec;
  std::string python_environment;       // whose interpreter is meant, by name; empty: the one of the first argument
  bool or_default_environment = false;  // else the daemon's own, if it has one
  core::JobRequest job;                 // without the work
};

// The same bytes for the same content.
std::string CanonicalBytes(const v1::Program& program);
// Of a program: JobRequest::payload_hash, by the digest of these bytes. The same in every process.
std::uint64_t PayloadHash(const journal::Sha256& digest);

// INVALID_ARGUMENT names every field that is wrong.
absl::StatusOr<ProgramRequest> FromProto(const v1::Program& program);

absl::StatusOr<server::TerminalSize> FromProto(const v1::TerminalSize& size);

void ToProto(const server::OutputPiece& piece, v1::ProgramPiece& out);
server::OutputPiece FromProto(const v1::ProgramPiece& piece);

// NOT_FOUND: there is no such folder, or no such program that can be executed.
absl::Status FindOnNode(server::Program& program, const std::string& node);

// INVALID_ARGUMENT: not one of those that may be sent.
absl::StatusOr<int> SignalFromProto(int number);

}  // namespace hotplate::wire
