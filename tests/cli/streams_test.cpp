// Standard streams that cannot be used: no run is ended by what nobody can read, and no result is
// said to be written that was not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "tests/cli/program.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Streams : public ProgramTest {
 protected:
  Streams() {
    record(folder() / "some.db", {race(problem(64, 64, 64))});
    std::array<int, 2> pipe_ends;
    if (pipe(pipe_ends.data()) != 0) throw std::runtime_error("pipe");
    close(pipe_ends[0]);
    nobody_reads_ = pipe_ends[1];
  }
  ~Streams() override { close(nobody_reads_); }

  /// Redirection of a stream to a pipe that nobody reads any more.
  std::string to_nobody(const std::string& stream) const {
    return stream + ">&" + std::to_string(nobody_reads_);
  }

  /// What is not redirected goes to the files out and err.
  Outcome run_with(const std::string& arguments, const std::string& redirections) const {
    SCOPED_TRACE(arguments + " " + redirections);
    const std::string out = (folder() / "out").string();
    const std::string err = (folder() / "err").string();
    fs::remove(out);
    fs::remove(err);
    const std::string command = "cd '" + folder().string() +
                                "' && export CUDA_VISIBLE_DEVICES= && " +
                                "exec '" HGEMM_PROGRAM "' " + arguments + " >'" + out + "' 2>'" +
                                err + "' </dev/null " + redirections;
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
  }

 private:
  int nobody_reads_ = -1;
};

TEST_F(Streams, WhatIsSaidOnStderrMayBeLost) {
  const std::string commands[] = {"best --db some.db", "plan --space smoke --format json",
                                  "--shapes 4096x4096x4096 --format json", "--help"};
  for (const std::string& command : commands) {
    const Outcome whole = run_with(command, "");
    EXPECT_EQ(whole.exit_code, 0);
    EXPECT_FALSE(whole.out.empty());
    for (const std::string& lost :
         {std::string("2>/dev/full"), std::string("2>&-"), std::string("0<&-"),
          std::string("0<&- 2>&-"), to_nobody("2")}) {
      const Outcome outcome = run_with(command, lost);
      EXPECT_EQ(outcome.exit_code, 0) << command << " " << lost;
      EXPECT_EQ(outcome.out, whole.out) << command << " " << lost;
    }
  }
  for (const char* lost : {"2>/dev/full", "2>&-"}) {
    EXPECT_EQ(run_with("--shaeps", lost).exit_code, 2) << lost;
    EXPECT_EQ(run_with("best --db none.db", lost).exit_code, 2) << lost;
  }
}

TEST_F(Streams, ResultsThatCannotBeWrittenAreAFailure) {
  for (const char* command : {"best --db some.db", "plan --space full", "plan --axes", "--help",
                              "best --help", "--version", "doctor --kernel-hash"}) {
    const Outcome outcome = run_with(command, ">/dev/full");
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_EQ(outcome.err,
              "hgemm-tune: stdout cannot be written: No space left on device; what was recorded is "
              "kept\n")
        << command;
    EXPECT_EQ(run_with(command, ">/dev/full 2>/dev/full").exit_code, 1) << command;
    EXPECT_EQ(run_with(command, ">/dev/full 2>&-").exit_code, 1) << command;
    EXPECT_EQ(run_with(command, ">&-").exit_code, 0) << command << ": nobody asked for them";
  }
}

// `hgemm-tune plan | head`: the exit code is what the signal would give, and nothing is said.
TEST_F(Streams, AReaderThatHasSeenEnoughIsToldNothing) {
  for (const char* command : {"best --db some.db", "plan --space full", "--help"}) {
    const Outcome outcome = run_with(command, to_nobody(""));
    EXPECT_EQ(outcome.exit_code, 141) << command;
    EXPECT_THAT(outcome.err, IsEmpty()) << command;
    EXPECT_EQ(run_with(command, to_nobody("") + " " + to_nobody("2")).exit_code, 141) << command;
  }
}

TEST_F(Streams, AnExportIsWholeWhateverCanBeSaidOfIt) {
  int number = 0;
  for (const std::string& lost : {std::string(""), std::string("2>/dev/full"), std::string("2>&-"),
                                  to_nobody("2"), std::string(">&- 2>&-")}) {
    const std::string output = "out" + std::to_string(number++);
    const Outcome outcome =
        run_with("export --format json --recorded --shapes 4096x4096x4096 -o " + output, lost);
    EXPECT_EQ(outcome.exit_code, 0) << lost << outcome.err;
    EXPECT_FALSE(fs::is_empty(folder() / output)) << lost;
  }
}

// The limit would end the program with a signal.
TEST_F(Streams, ALimitOfFileSizesIsAnErrorLikeAFullDisk) {
  const std::string command = "cd '" + folder().string() +
                              "' && { (ulimit -f 0; '" HGEMM_PROGRAM
                              "' plan --space full >big; echo $?) 2>&1 | cat >said; }";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(folder() / "said"),
            "hgemm-tune: stdout cannot be written: File too large; what was recorded is kept\n1\n");
}

}  // namespace
}  // namespace hgemm
