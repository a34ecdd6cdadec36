// `up` speaks of CUDA's libraries before the queue: they have to fit the plug-ins beside the daemon.
#include "client/cli/allocation/cuda_libraries.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CudaLibrariesTest : public testing::Test {
 protected:
  CudaLibrariesTest() { folder_.Write("bin/hotplated", ""); }
  void PlugIn(int major) { folder_.Write("bin/libhotplate_cuda" + std::to_string(major) + ".so", ""); }

  std::string Text(const std::vector<std::string>& modules) {
    Site site;
    site.name = "kebab";
    site.modules = modules;
    site.exports = exports_;
    return CudaLibrariesText(site, folder_.File("bin/hotplated"),
                             [this](const std::string& name) -> std::optional<std::string> {
                               const auto found = variables_.find(name);
                               return found == variables_.end() ? std::nullopt : std::optional(found->second);
                             });
  }
  static std::vector<std::string> ModulesOf(const std::string& site) {
    return FindSite(site, [](const std::string&) { return std::nullopt; })->modules;
  }

  TemporaryFolder folder_;
  std::vector<std::string> exports_;
  std::map<std::string, std::string, std::less<>> variables_;
};

TEST_F(CudaLibrariesTest, AModuleOfAnotherCudaThanThePlugInsIsNamedWithWhatToDo) {
  PlugIn(13);
  EXPECT_THAT(Text({"GCC/12.3.0", "CUDA/12.1.1"}),
              AllOf(HasSubstr("kebab loads CUDA/12.1.1, and libhotplate_cuda13.so beside hotplated calls libraries of "
                              "CUDA 13"),
                    HasSubstr("matmul, fft, svd"), HasSubstr("extends = \"kebab\""),
                    HasSubstr("pip install --user nvidia-cublas nvidia-cufft nvidia-cusolver")));
  EXPECT_THAT(Text({"buildenv-gcccuda/12.2.2-gcc11-hpc1"}), HasSubstr("buildenv-gcccuda/12.2.2"));
  EXPECT_THAT(Text({"CUDA/13.0.0"}), IsEmpty());
  PlugIn(12);
  EXPECT_THAT(Text({"GCC/12.3.0", "CUDA/12.1.1"}), IsEmpty()) << "the daemon takes the one whose libraries are there";
  EXPECT_THAT(Text({"gcc/7.4.0", "cuda/11.0.2"}), HasSubstr("CUDA 12 or 13"));
}

TEST_F(CudaLibrariesTest, WithoutAModuleItSaysHowToLoadOne) {
  PlugIn(12);
  const auto says = AllOf(HasSubstr("kebab loads no CUDA module"), HasSubstr("module spider cuda"),
                          HasSubstr("modules in a profile of your own"), HasSubstr("nvidia-cublas-cu12"));
  EXPECT_THAT(Text({}), says);
  const auto lunarc = FindSite("lunarc-cosmos", [](const std::string&) { return std::nullopt; });
  EXPECT_THAT(CudaLibrariesText(*lunarc, folder_.File("bin/hotplated"),
                                [](const std::string&) -> std::optional<std::string> { return std::nullopt; }),
              AllOf(HasSubstr("the first of the modules CUDA, cuda that exists"), HasSubstr("not CUDA 12"),
                    HasSubstr("module spider cuda")));
  EXPECT_THAT(Text({"python_ML_packages/3.11.8-gpu"}), IsEmpty()) << "who knows what it brings";
  variables_["EBROOTCUDA"] = "/sw/CUDA/12.1.1";
  EXPECT_THAT(Text({}), IsEmpty()) << "it is loaded here, and sbatch passes that on";
  variables_ = {{"HOME", folder_.path()}};
  EXPECT_THAT(Text({}), says);
  folder_.Write(".local/lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12", "");
  EXPECT_THAT(Text({}), IsEmpty());
  variables_.clear();
  exports_ = {"HOTPLATE_CUDA_LIBRARY_PATH=/sw/cuda/lib"};
  EXPECT_THAT(Text({}), IsEmpty());
}

TEST_F(CudaLibrariesTest, WithoutAPlugInThereIsNoGpu) {
  EXPECT_THAT(Text({"CUDA/12.1.1"}), HasSubstr("no CUDA plug-in (libhotplate_cuda13.so) beside " + folder_.path()));
  // In a bundle they lie elsewhere.
  folder_.Write("libexec/hotplate/libhotplate_cuda12.so", "");
  EXPECT_THAT(Text({"CUDA/12.1.1"}), IsEmpty());
}

// Every profile that is built in fits a release with both plug-ins, or up says what to do.
TEST_F(CudaLibrariesTest, TheProfilesBuiltIn) {
  PlugIn(12);
  PlugIn(13);
  for (const char* site : {"hpc2n", "surf-snellius", "nsc-tetralith", "uppmax-snowy"})
    EXPECT_THAT(Text(ModulesOf(site)), IsEmpty()) << site;
  for (const char* site : {"lunarc-cosmos", "gwdg-scc", "generic-slurm"})
    EXPECT_THAT(Text(ModulesOf(site)), HasSubstr("loads no CUDA module")) << site;
  EXPECT_THAT(Text(ModulesOf("olcf-ascent")), HasSubstr("loads cuda/11.0.2"));
}

}  // namespace
}  // namespace hotplate::cli
