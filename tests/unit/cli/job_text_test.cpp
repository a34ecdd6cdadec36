// What --dry-run says of a job: the daemon's answer in words.
#include "client/cli/jobs/job_text.h"

#include <gtest/gtest.h>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/terminal/format.h"

namespace hotplate::cli {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

v1::DeviceFit* AddDevice(v1::CheckJobResponse& check, v1::DeviceFit::Fit fit) {
  v1::DeviceFit* const device = check.add_devices();
  device->set_device("gpu0");
  device->set_fit(fit);
  device->set_bytes_needed(5 * kGB);
  device->set_bytes_free(2 * kGB);
  device->set_bytes_total(8 * kGB);
  return device;
}

TEST(JobTable, CutsLabelsAndSessionsBeforeKernels) {
  for (const std::string& label : {std::string("b"), std::string("a label that is quite long, as labels go")}) {
    v1::Job job;
    job.set_id("17");
    job.set_kernel("mandelbrot");
    job.set_state(v1::COMPLETED);
    job.set_device("cpu0");
    *job.mutable_submit_time() = Now();
    *job.mutable_start_time() = job.submit_time();
    job.set_label(label);
    job.set_session("a4f2dfb1-0000");
    const std::string table = JobTable({job}, {.width = 80});
    EXPECT_NE(table.find("mandelbrot"), std::string::npos) << table;
    EXPECT_EQ(table.find("a4f2dfb1"), std::string::npos) << table;
    EXPECT_NE(JobTable({job}, {.width = 86}).find(" a4f2dfb1\n"), std::string::npos);
  }
}

TEST(JobTable, NamesEachKernelOfTheCatalogueInFull) {
  for (const v1::KernelSpec& kernel : EmbeddedKernels()) {
    v1::Job job;
    job.set_id("1700");
    job.set_kernel(kernel.name());
    job.set_state(v1::CANCELLED);
    job.set_label("a label that is quite long, as labels go");
    job.set_session("a4f2dfb1-0000");
    for (const int width : {60, 80})
      EXPECT_NE(JobTable({job}, {.width = width}).find(kernel.name() + " "), std::string::npos) << width;
  }
}

TEST(CheckText, SaysWhenAJobFits) {
  for (const auto& [fit, words] :
       {std::pair(v1::DeviceFit::NOW, "fits now"), std::pair(v1::DeviceFit::NEVER, "never fits")}) {
    v1::CheckJobResponse check;
    AddDevice(check, fit);
    EXPECT_EQ(CheckText(check), std::string("  device  gpu0  ") + words + "  5.0 GB needed, 2.0 GB free of 8.0 GB\n");
  }
}

TEST(CheckText, NamesTheJobThatItWaitsFor) {
  v1::CheckJobResponse check;
  v1::OtherJob* const other = AddDevice(check, v1::DeviceFit::LATER)->mutable_after_job();
  other->set_job_id("17");
  other->set_kernel("matmul");
  const std::string room = "  5.0 GB needed, 2.0 GB free of 8.0 GB\n";
  EXPECT_EQ(CheckText(check), "  device  gpu0  fits after job 17 (matmul)" + room);
  other->clear_kernel();
  EXPECT_EQ(CheckText(check), "  device  gpu0  fits after job 17 (not yours)" + room);
}

TEST(CheckText, SaysWhatHoldsTheMemoryThatNoJobGivesBack) {
  v1::CheckJobResponse check;
  v1::DeviceFit* const device = AddDevice(check, v1::DeviceFit::LATER);
  device->set_bytes_held(6 * kGB);
  const std::string held = "  device  gpu0  no job's end makes room  5.0 GB needed, 2.0 GB free of 8.0 GB; 6.0 GB held";
  EXPECT_EQ(CheckText(check), held + "\n");
  device->set_bytes_of_arrays(4 * kGB);
  EXPECT_EQ(CheckText(check), held + ", 4.0 GB of it by arrays: hotplate arrays\n");
}

// Then a dry run ends as a run would, and not with exit 0.
TEST(CanNeverRun, WhereNoDeviceIsLargeEnoughOrNotTheMemoryForArrays) {
  v1::CheckJobResponse check;
  EXPECT_FALSE(CanNeverRun(check)) << "of what a daemon does not say nothing is known";
  AddDevice(check, v1::DeviceFit::NEVER);
  EXPECT_TRUE(CanNeverRun(check));
  AddDevice(check, v1::DeviceFit::LATER);
  EXPECT_FALSE(CanNeverRun(check)) << "another device is";
  check.mutable_array_memory()->set_bytes_needed(4 * kGB);
  check.mutable_array_memory()->set_bytes_total(4 * kGB);
  EXPECT_FALSE(CanNeverRun(check)) << "none of it is free now";
  check.mutable_array_memory()->set_bytes_needed(4 * kGB + 1);
  EXPECT_TRUE(CanNeverRun(check));
}

TEST(CheckText, TellsOutputsAndCost) {
  v1::CheckJobResponse check;
  v1::NamedSignature* const output = check.add_outputs();
  output->set_name("y");
  output->mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
  output->mutable_signature()->add_shape(3000);
  EXPECT_EQ(CheckText(check), "  output  y  float32 [3000]\n") << "a kernel that claims no cost";
  check.set_flop(6e9);
  check.set_bytes_moved(kGB);
  EXPECT_EQ(CheckText(check), "  output  y  float32 [3000]\n  cost    6e9 FLOP, 1.0 GB moved\n");
}

TEST(CheckText, TellsAJobThatWaitsForMoreMemoryFromOneThatNeverHasIt) {
  v1::CheckJobResponse check;
  v1::ArrayMemory* const memory = check.mutable_array_memory();
  memory->set_bytes_needed(3 * kGB);
  memory->set_bytes_total(4 * kGB);
  memory->set_bytes_free(3 * kGB);
  EXPECT_EQ(CheckText(check), "") << "there is enough";
  memory->set_bytes_free(kGB);
  const std::string lack = "of the memory for arrays (limit array-bytes) ";
  EXPECT_EQ(CheckText(check),
            "  it would fail now: " + lack +
                "3.0 GB needed, 1.0 GB free of 4.0 GB; free arrays or wait for jobs: hotplate arrays, "
                "hotplate jobs\n");
  memory->set_bytes_needed(5 * kGB);
  EXPECT_EQ(CheckText(check), "  it can never run here: " + lack + "5.0 GB needed, 1.0 GB free of 4.0 GB\n");
}

}  // namespace
}  // namespace hotplate::cli
