// --blas: which folders are taken, and what a worker gets.
#include "program/blas.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "device/device.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class BlasTest : public testing::Test {
 protected:
  BlasTest() {
    unsetenv("HGEMM_TUNE_BLAS");
    unsetenv("LD_LIBRARY_PATH");
  }
  std::string folder_with(const std::vector<std::string>& libraries) const {
    for (const std::string& library : libraries) std::ofstream(folder_.path() / library);
    return folder_.path().string();
  }

  test::TemporaryFolder folder_;
};

TEST_F(BlasTest, WithoutTheOptionTheWorkersAreAsTheyAre) {
  EXPECT_THAT(blas_folder({}), IsEmpty());
  EXPECT_THAT(variables_for_blas(""), IsEmpty());
}

TEST_F(BlasTest, TheFolderComesBeforeOthers) {
  const std::string folder = folder_with(cublas_libraries());
  EXPECT_EQ(blas_folder(folder), folder);
  EXPECT_THAT(variables_for_blas(folder), ElementsAre("LD_LIBRARY_PATH=" + folder));
  setenv("LD_LIBRARY_PATH", "/other:/third", 1);
  EXPECT_THAT(variables_for_blas(folder),
              ElementsAre("LD_LIBRARY_PATH=" + folder + ":/other:/third"));
}

TEST_F(BlasTest, TheVariableIsTheDefault) {
  const std::string folder = folder_with(cublas_libraries());
  setenv("HGEMM_TUNE_BLAS", folder.c_str(), 1);
  EXPECT_EQ(blas_folder({}), folder);
  EXPECT_EQ(blas_folder(""), "") << "an empty option says none";
}

TEST_F(BlasTest, AFolderWithoutALibraryIsRefusedByItsName) {
  const std::string folder = folder_with({cublas_libraries().front()});
  EXPECT_THAT([&] { blas_folder(folder); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("--blas " + folder), HasSubstr(cublas_libraries().back()))));
}

}  // namespace
}  // namespace hgemm::cli
