// --executor slurm and the slurm command, as far as they go without a cluster. tests/slurm has one.
#include <gmock/gmock.h>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SlurmCommand : public ProgramTest {
 protected:
  static constexpr const char* kSweep = "--shapes 64x256x512,128x256x512 --executor slurm ";
  static constexpr const char* kNoSlurm = "export PATH=/nonexistent";
};

TEST_F(SlurmCommand, ADryRunSaysEverythingAndMakesNothing) {
  const auto before = files();
  const Outcome done = run(std::string(kSweep) +
                               "--partition gpu --gpus-per-node 2 --time 1:00:00 --array-limit 3 "
                               "--compile-partition cpu --sbatch-option '--account=lab' "
                               "--sbatch-option '--qos=night' --shard-minutes 0.01 --dry-run",
                           kNoSlurm);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  for (const char* text :
       {"2 races: 2 shapes", "2 shards", "(not made)", "---- job.sh ----", "---- compile.sh ----",
        "#SBATCH --partition=gpu\n", "#SBATCH --account=lab\n", "#SBATCH --qos=night\n",
        "sbatch --parsable --array=1-2 ",
        "sbatch --parsable --array=1-2%3 --dependency=aftercorr:", "--dependency=afterany:"}) {
    EXPECT_THAT(done.out, HasSubstr(text));
  }
  EXPECT_EQ(files(), before);
}

TEST_F(SlurmCommand, WithoutSlurmNothingIsMade) {
  const auto before = files();
  const Outcome done = run(kSweep, kNoSlurm);
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, HasSubstr("run this where jobs are submitted, on a login node"));
  EXPECT_EQ(files(), before);
}

TEST_F(SlurmCommand, OptionsThatCannotBeMeantAreRefused) {
  const auto error = [&](const std::string& arguments) {
    const Outcome done = run(arguments, kNoSlurm);
    EXPECT_EQ(done.exit_code, 2) << arguments;
    return done.err;
  };
  EXPECT_THAT(error("--shapes 64x64x64 --executor pbs"), HasSubstr("expected local or slurm"));
  EXPECT_THAT(error("--shapes 64x64x64 --partition gpu"), HasSubstr("--executor"));
  EXPECT_THAT(error(std::string(kSweep) + "--devices all"), HasSubstr("--gpus-per-node"));
  EXPECT_THAT(error(std::string(kSweep) + "--recorded"), HasSubstr("measures nothing"));
  EXPECT_THAT(error(std::string(kSweep) + "--confirm 2"), HasSubstr("second GPU"));
  EXPECT_THAT(error(std::string(kSweep) + "--run \"a'b\" --dry-run"), HasSubstr("job script"));
  EXPECT_THAT(error(std::string(kSweep) + "--sbatch-option lab --dry-run"),
              HasSubstr("one option of sbatch"));
  write_file(folder() / "full/file", "x");
  EXPECT_THAT(error(std::string(kSweep) + "--run full --dry-run"),
              HasSubstr("not an empty folder"));
}

TEST_F(SlurmCommand, AFolderThatIsNoRunIsRefused) {
  for (const char* action : {"status", "resume", "cancel", "merge", "task"}) {
    const std::string shard = std::string(action) == "task" ? " 1" : "";
    const Outcome done = run(std::string("slurm ") + action + " ." + shard);
    EXPECT_EQ(done.exit_code, 2) << action;
    EXPECT_THAT(done.err, HasSubstr("there is no run.json in it")) << action;
  }
  EXPECT_THAT(run("slurm look .").err, HasSubstr("there is no such action"));
  EXPECT_THAT(run("slurm task .").err, HasSubstr("which shard?"));
  EXPECT_THAT(run("slurm status . 1").err, HasSubstr("whole run"));
  write_file(folder() / "run.json", "{\"version\": 1");
  EXPECT_THAT(run("slurm status .").err,
              AllOf(HasSubstr("run.json"), HasSubstr("not the plan of a run")));
}

}  // namespace
}  // namespace hgemm
