// Calls about jobs that the daemon may only have in its journal.
#pragma once

#include <string>
#include <utility>

#include "server/service/context.h"
#include "server/service/unary.h"

namespace hotplate::server {

// Of an id from the wire.
inline core::JobId IdOf(const std::string& text) { return core::JobId(text.substr(0, 128)); }

// Like AnswerNow, but on the files' thread if the caller's question `must_wait` for files.
template <typename MustWait, typename Answer>
grpc::ServerUnaryReactor* AnswerAfterFiles(const ServiceContext& context, grpc::CallbackServerContext* call,
                                           core::Scope needed, const google::protobuf::Message& request,
                                           MustWait must_wait, Answer answer) {
  return AnswerWhenDone(context, call, needed, [&](const core::Principal& who, const auto& finish) {
    if (must_wait(who)) {
      return context.PostQuestion(who, request.ByteSizeLong(), [finish, answer, who] { finish(answer(who)); });
    }
    finish(answer(who));
    return absl::OkStatus();
  });
}

// `answer`, on the files' thread if the journal has to be asked for the job, or for its `result`, or if it
// `reads_files` itself.
template <typename ReadsFiles, typename Answer>
grpc::ServerUnaryReactor* AnswerAfterRecall(const ServiceContext& context, grpc::CallbackServerContext* call,
                                            const google::protobuf::Message& request, const std::string& job,
                                            bool result, ReadsFiles reads_files, Answer answer) {
  DurableJobs* const durable = context.durable();
  const auto must_recall = [=](const core::Principal& who) {
    return durable != nullptr && durable->MustRecall(who, IdOf(job), result);
  };
  const auto must_wait = [=](const core::Principal& who) { return must_recall(who) || reads_files(who); };
  return AnswerAfterFiles(context, call, core::Scope::kObserve, request, must_wait,
                          [=](const core::Principal& who) -> absl::Status {
                            if (!must_recall(who)) return answer(who);
                            absl::Status recalled = durable->Recall(who, IdOf(job), result);
                            return recalled.ok() ? answer(who) : recalled;
                          });
}

template <typename Answer>
grpc::ServerUnaryReactor* AnswerAfterRecall(const ServiceContext& context, grpc::CallbackServerContext* call,
                                            const google::protobuf::Message& request, const std::string& job,
                                            bool result, Answer answer) {
  return AnswerAfterRecall(
      context, call, request, job, result, [](const core::Principal&) { return false; }, std::move(answer));
}

}  // namespace hotplate::server
