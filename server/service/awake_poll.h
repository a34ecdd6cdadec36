// gRPC's wait for messages, awake for a moment. Between a message and the sleeping thread that it wakes lie 20 to
// 100 us, more than a tiny job takes. Whoever sends one job after the other, and waits for each, sends the next as soon
// as it has the answer: so after two such calls in quick succession the daemon looks for the third without sleeping,
// for 0.15 ms: longer than a client on the same network takes. Where that is in vain, or others need the processor, it
// sleeps as ever.
//
// gRPC 1.51 has no setting for it. Its epoll_wait is this file's (--wrap in CMakeLists.txt, where gRPC is linked in).
#pragma once

namespace hotplate::server {

// A call that brought one job was answered where it came in.
void NoteSmallCall();

// Jobs came many at a time: their sender does not wait for each.
void NoteManyJobs();

}  // namespace hotplate::server
