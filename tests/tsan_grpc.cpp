// What ThreadSanitizer leaves out in programs with gRPC. Debian's libraries are not instrumented: it sees neither their
// locks nor the order that they make, and calls a race what gRPC has put in order. The price: whatever happens on a
// thread of gRPC's, our reactors included, is not judged. What the reactors share with our own threads (engine, arrays,
// observers, queue) is, in the tests of the core, which have no gRPC and none of this.
//
// Compiled into every such program of the tsan preset, the daemon and the command line among them.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();  // NOLINT: its name

const char* __tsan_default_suppressions() {  // NOLINT: its name
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgrpc++.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libupb.so\n"
         "called_from_lib:libcrypto.so\n"
         "called_from_lib:libssl.so\n"
         "called_from_lib:libz.so\n"
         "race:libgrpc\n"
         "race:libgpr\n"
         "race:libupb\n"
         "race:libabsl\n"
         "race:libprotobuf\n"
         "race:libcrypto\n"
         "race:libssl\n"
         "race:libz\n"
         // Their templates, compiled into our programs, on memory that the libraries made.
         "race:absl::\n"
         "race:grpc::internal::CallOp\n"
         "race:grpc::internal::Callback\n"
         // What ends after the last call: that there are none any more is what gRPC's shutdown says.
         "race:std::unique_ptr<hotplate::server::ServiceContext\n"
         // Numbers of descriptors that we accept, gRPC closes, and openat takes anew: the last two are not seen.
         "race:server/saved/saved_folders.cpp\n"
         "mutex:libgrpc\n"
         "deadlock:libgrpc\n";
}
