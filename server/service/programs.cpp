#include "server/service/programs.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "kernels/devices/cpu/machine.h"
#include "server/service/auth.h"
#include "server/wire/values.h"
#include "server/workers/function_job.h"
#include "server/workers/program_sweep.h"

namespace hotplate::server {
namespace {

// The processor's threads that this process may use, divided among the lanes of all GPUs.
int ThreadsBesideGpu(const ServiceContext& context) {
  int lanes = 0;
  for (const auto& [id, device] : context.facts().devices) lanes += device.uuid.empty() ? 0 : device.lanes;
  return std::max(1, cpu::UsableThreads() / std::max(1, lanes));
}

// On a GPU. The CPU's places for workers are the core's to count.
absl::Status CheckCpus(const ServiceContext& context, const std::string& function, std::uint32_t cpus) {
  if (cpus <= 1) return absl::OkStatus();  // nearly all calls: no files are read for them
  auto most = static_cast<std::uint32_t>(cpu::UsableThreads());
  bool any_gpu = false;
  for (std::size_t i = 0; i < context.engine().devices().size(); ++i) {
    any_gpu |= !context.engine().devices()[i]->info().uuid.empty();
    most = std::max(most, context.engine().WorkersOf(i));
  }
  if (!any_gpu || cpus <= most) return absl::OkStatus();
  return InvalidField("cpus",
                      absl::StrCat(function, ": cpus is ", cpus, "; at most ", most, " are possible on this node"));
}

absl::Status RunsFunctions(const ServiceContext::ProgramSettings& settings) {
  if (absl::Status status = RunsPrograms(settings); !status.ok()) return status;
  if (settings.pythons != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this daemon runs no Python functions, since a file of its installation is missing, which its log names "
      "(hotplate-keeper, hotplate_worker.py or hotplate_calls.py)");
}

// Which program it is on the node.
absl::Status Settle(const ServiceContext& context, wire::ProgramRequest& request) {
  Program& program = request.program;
  const absl::StatusOr<std::string> python =
      context.programs().environments->PutInto(program, request.python_environment, request.or_default_environment);
  if (!python.ok()) return python.status();
  if (!python->empty() && request.kind == ProgramJob::Kind::kPython) program.arguments.front() = *python;
  if (absl::Status status = wire::FindOnNode(program, context.info().node()); !status.ok()) return status;
  context.programs().jit_caches.AddTo(program.environment);
  program.umask = context.programs().umask;
  program.memory_bytes = context.programs().memory_bytes;
  program.threads_beside_gpu = ThreadsBesideGpu(context);
  return absl::OkStatus();
}

// For functions, where the node does not see the client's interpreter: what to write.
absl::Status AboutInterpreter(const absl::Status& status, const wire::ProgramRequest& request) {
  const std::vector<FieldViolation> violations = Violations(status);
  if (violations.empty() || violations[0].field != "arguments" || !request.python_environment.empty()) return status;
  return hotplate::Refused(
      status.code(),
      {{"arguments", absl::StrCat(violations[0].description,
                                  ". Name one that it has: hotplate env add NAME --python PATH, and then "
                                  "env=\"NAME\" (or hotplate up --python PATH, for all functions)")}});
}

std::string Sha256(const std::vector<std::string>& texts) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  for (const std::string& text : texts) {
    const std::uint64_t length = text.size();
    EVP_DigestUpdate(digest.get(), &length, sizeof(length));
    EVP_DigestUpdate(digest.get(), text.data(), text.size());
  }
  EVP_DigestFinal_ex(digest.get(), bytes.data(), &size);
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), size});
}

}  // namespace

absl::Status RunsPrograms(const ServiceContext::ProgramSettings& settings) {
  if (settings.supervisor == nullptr) {
    return absl::PermissionDeniedError(
        absl::StrCat("this daemon runs no code of yours: it was started with --user-code ",
                     settings.expressions ? "expressions" : "none"));
  }
  if (!settings.supervisor->alive()) {
    return absl::UnavailableError(
        "the daemon can start no programs any more, since their supervisor was killed: restart it");
  }
  return absl::OkStatus();
}

absl::StatusOr<core::JobRequest> ProgramAsJob(const ServiceContext& context, const v1::Program& program,
                                              std::shared_ptr<ProgramStreams> streams) {
  const ServiceContext::ProgramSettings& settings = context.programs();
  if (absl::Status status = RunsPrograms(settings); !status.ok()) return status;
  absl::StatusOr<wire::ProgramRequest> request = wire::FromProto(program);
  if (!request.ok()) return request.status();
  if (absl::Status status = Settle(context, *request); !status.ok()) return status;
  if (request->job.sweep != nullptr) {
    request->job.work = std::make_shared<ProgramSweep>(*settings.supervisor, settings.pythons, request->kind,
                                                       std::move(request->program));
    return std::move(request->job);
  }
  request->job.work = std::make_shared<ProgramJob>(*settings.supervisor, settings.pythons, request->kind,
                                                   std::move(request->program), std::move(streams));
  return std::move(request->job);
}

absl::StatusOr<core::JobRequest> JobAsRequest(const ServiceContext& context, const core::Principal& who,
                                              const v1::JobSpec& spec, wire::SignatureInputs signature_inputs) {
  absl::StatusOr<core::JobRequest> request =
      wire::FromProto(spec, *context.BoundsFor(who), signature_inputs, context.arrays());
  if (!request.ok()) return request;
  if (context.durable() != nullptr) {
    if (absl::Status status = context.durable()->CheckNotAway(who, request->request_id); !status.ok()) return status;
  }
  const ServiceContext::ProgramSettings& settings = context.programs();
  if (!spec.expression().empty() && !settings.expressions) {
    return absl::PermissionDeniedError("this daemon runs no expressions: it was started with --user-code none");
  }
  if (!spec.has_function()) return request;
  if (absl::Status status = CheckScope(who.token, who.scope, core::Scope::kCode); !status.ok()) return status;
  if (absl::Status status = RunsFunctions(settings); !status.ok()) return status;
  if (request->inputs.empty())
    return InvalidField("inputs", "inputs are empty: a function has the input \"arguments\"");
  if (!request->outputs.empty())
    return InvalidField("outputs", "a function names its outputs itself: keep them all, or none");
  auto function = settings.functions->Function(spec.function().function());
  if (!function.ok()) return function.status();
  if (absl::Status status = CheckCpus(context, (*function)->name, spec.function().cpus()); !status.ok()) return status;
  std::shared_ptr<const FunctionEnvironment> environment;
  if (!spec.function().environment().empty()) {
    auto found = settings.functions->Environment(spec.function().environment());
    if (!found.ok()) return found.status();
    environment = *std::move(found);
  }
  if (request->label.empty()) request->label = (*function)->name;
  request->work = std::make_shared<FunctionJob>(
      *settings.pythons, *settings.workers, *settings.segments,
      FunctionJob::Call{*std::move(function), std::move(environment), request->inputs.size() - 1,
                        spec.function().keep(), spec.function().alone(), spec.function().cpus()});
  return request;
}

absl::StatusOr<FunctionEnvironment> OpenEnvironment(const ServiceContext& context, const v1::Program& python,
                                                    v1::OpenEnvironmentResponse& response) {
  if (absl::Status status = RunsFunctions(context.programs()); !status.ok()) return status;
  absl::StatusOr<wire::ProgramRequest> request = wire::FromProto(python);
  if (!request.ok()) return request.status();
  request->kind = ProgramJob::Kind::kPython;
  request->or_default_environment = python.or_default_environment();
  if (absl::Status status = Settle(context, *request); !status.ok()) return AboutInterpreter(status, *request);
  const absl::StatusOr<PythonFacts> facts =
      context.programs().environments->FactsOf(request->program, [&context] { return context.control().draining(); });
  if (!facts.ok()) return facts.status();
  FunctionEnvironment environment{"", std::move(request->program)};
  std::vector<std::string> content = environment.python.environment;
  content.push_back(environment.python.file);
  content.push_back(environment.python.folder);
  content.push_back(environment.python.named_environment);
  environment.id = Sha256(content);
  response.set_environment(environment.id);
  response.set_interpreter(environment.python.file);
  response.set_name(environment.python.named_environment);
  response.set_python_version(facts->version);
  response.set_numpy(facts->numpy);
  response.set_cloudpickle(facts->cloudpickle);
  response.set_generation(context.generation());
  return environment;
}

absl::StatusOr<FunctionCode> FunctionFrom(const ServiceContext& context, const v1::PutFunctionRequest& request) {
  if (absl::Status status = RunsFunctions(context.programs()); !status.ok()) return status;
  if (absl::Status status = context.CheckSize(request); !status.ok()) return status;
  if (absl::Status status = wire::CheckLabel(request.name()); !status.ok()) {
    return InvalidField("name", absl::StrCat("name: ", status.message()));
  }
  return FunctionCode{Sha256({request.name(), request.code()}), request.name(), request.code()};
}

const std::shared_ptr<ProgramStreams>& StreamsOf(const core::OutsideWork& work) {
  return dynamic_cast<const PrintingWork&>(work).streams();
}

}  // namespace hotplate::server
