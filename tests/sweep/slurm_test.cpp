// What Slurm is asked and what it answers. tests/slurm runs the real one.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "sweep/scripts.h"
#include "sweep/slurm.h"
#include "tests/support/scratch_files.h"

namespace hgemm::sweep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

TEST(Slurm, LimitsOfArraysAreRead) {
  const std::string text =
      "Configuration data as of 2026-11-23T10:00:00\n"
      "MaxArraySize            = 1001\n"
      "SchedulerParameters     = batch_sched_delay=0,max_array_tasks=500,bf_interval=1\n";
  EXPECT_EQ(parse_limits(text).highest_index, 1000);
  EXPECT_EQ(parse_limits(text).most_tasks, 500);
  EXPECT_EQ(parse_limits(text).shards(), 500);
  EXPECT_EQ(parse_limits("MaxArraySize = 1001\n").shards(), 1000);
  EXPECT_THROW(parse_limits("MaxArraySize = 0\n"), Error);
  EXPECT_THROW(parse_limits("MaxArraySize = many\n"), Error);
  EXPECT_THROW(parse_limits(""), Error);
}

TEST(Slurm, JobIdsAreRead) {
  EXPECT_EQ(parse_job_id("1234\n"), "1234");
  EXPECT_EQ(parse_job_id("1234;cluster\n"), "1234");
  for (const char* text : {"", "\n", "Submitted batch job 1234", "12 34", "-5"}) {
    EXPECT_THROW(parse_job_id(text), Error) << text;
  }
}

TEST(Slurm, TheQueueIsRead) {
  const auto tasks = parse_queue(
      "12|3|RUNNING|None\n12|4|PENDING|launch failed requeued held\n13|N/A|PENDING|Dependency\n");
  ASSERT_THAT(tasks, SizeIs(3u));
  EXPECT_EQ(tasks[0].index, 3);
  EXPECT_EQ(tasks[0].state, "RUNNING");
  EXPECT_FALSE(is_held(tasks[0]));
  EXPECT_TRUE(is_held(tasks[1]));
  EXPECT_EQ(tasks[2].job, "13");
  EXPECT_FALSE(tasks[2].index);
  EXPECT_THAT(parse_queue("\n"), IsEmpty());
  for (const char* text : {"12|3|RUNNING", "x|3|RUNNING|None", "12|a|RUNNING|None", "error"}) {
    EXPECT_THROW(parse_queue(text), Error) << text;
  }
}

TEST(Slurm, IndicesAreListedInRanges) {
  EXPECT_EQ(index_list({1, 2, 3, 7, 9, 10}), "1-3,7,9-10");
  EXPECT_EQ(index_list({5}), "5");
  EXPECT_EQ(index_list({}), "");
}

Slurm answering(CommandResult result) {
  return Slurm([result](const std::vector<std::string>&) { return result; });
}

TEST(Slurm, FailuresAreExplained) {
  const auto submit = [](int code, const std::string& err) {
    return [=] { answering({code, "", err}).submit({"sbatch", "job.sh"}); };
  };
  EXPECT_THAT(
      submit(1,
             "sbatch: error: invalid partition specified: nosuch\n"
             "sbatch: error: Batch job submission failed: Invalid partition name specified\n"),
      ThrowsMessage<Error>(AllOf(HasSubstr("nosuch"), HasSubstr("sinfo"))));
  EXPECT_THAT(
      submit(1, "sbatch: error: Batch job submission failed: Invalid job array specification"),
      ThrowsMessage<Error>(HasSubstr("--shard-minutes")));
  EXPECT_THAT(submit(1,
                     "sbatch: error: Batch job submission failed: Unable to contact slurm "
                     "controller (connect failure)"),
              ThrowsMessage<Error>(HasSubstr("does not answer")));
  EXPECT_THAT(submit(1, "some\033[31mthing\n"), ThrowsMessage<Error>(Not(HasSubstr("\033"))));
  const Slurm missing(
      [](const std::vector<std::string>&) -> CommandResult { throw ProgramMissing("no"); });
  EXPECT_THAT([&] { missing.limits(); }, ThrowsMessage<Error>(HasSubstr("login node")));
  EXPECT_THAT(
      [] {
        answering({std::nullopt, "", ""}).limits();
      },
      ThrowsMessage<Error>(HasSubstr("did not answer")));
}

TEST(Slurm, JobsThatItForgotHaveEnded) {
  const Slurm slurm = answering({1, "", "slurm_load_jobs error: Invalid job id specified\n"});
  const std::vector<std::string> jobs{"7"};
  EXPECT_THAT(slurm.queue(jobs), IsEmpty());
  slurm.cancel(jobs);
}

TEST(Slurm, OneQuestionIsAskedForAllJobs) {
  std::vector<std::vector<std::string>> asked;
  const Slurm slurm([&](const std::vector<std::string>& command) {
    asked.push_back(command);
    return CommandResult{0, "", ""};
  });
  const std::vector<std::string> jobs{"7", "9"};
  slurm.queue(jobs);
  slurm.queue({});
  ASSERT_THAT(asked, SizeIs(1u));
  EXPECT_EQ(asked[0].front(), "squeue");
  EXPECT_EQ(asked[0].back(), "--jobs=7,9");
}

// ---- Scripts ----

JobOptions options() {
  JobOptions options;
  options.partition = "gpu";
  options.time = "2:00:00";
  options.gpus_per_node = 4;
  options.sbatch = {"--account=lab", "--constraint=h200"};
  return options;
}

TEST(Scripts, SayWhatTheUserAskedFor) {
  const auto texts = scripts(options(), "/shared/my run", "/opt/bin/hgemm-tune");
  ASSERT_THAT(texts, SizeIs(2u));
  const std::string& job = texts.at("job.sh");
  for (const char* line :
       {"#SBATCH --partition=gpu\n", "#SBATCH --time=2:00:00\n", "#SBATCH --gpus-per-node=4\n",
        "#SBATCH --account=lab\n", "#SBATCH --constraint=h200\n", "#SBATCH --requeue\n",
        "#SBATCH --open-mode=append\n", "#SBATCH --signal=B:USR2@90\n", "run='/shared/my run'\n",
        "program='/opt/bin/hgemm-tune'\n",
        "#SBATCH --output=\"/shared/my run/logs/race-%A_%a.log\""}) {
    EXPECT_THAT(job, HasSubstr(line));
  }
  EXPECT_THAT(job, Not(HasSubstr("@RUN@")));
  EXPECT_THAT(texts.at("merge.sh"), Not(HasSubstr("gpus-per-node")));
  JobOptions ahead = options();
  ahead.compile_partition = "cpu";
  EXPECT_THAT(scripts(ahead, "/r", "/p").at("compile.sh"),
              AllOf(HasSubstr("--partition=cpu\n"), HasSubstr("\nexit 0\n")));
}

TEST(Scripts, AreValidAndHaveTheirOptionsFirst) {
  const ScratchFiles files;
  JobOptions ahead = options();
  ahead.compile_partition = "cpu";
  for (const auto& [name, text] : scripts(ahead, "/shared/my run", "/opt/bin/hgemm-tune")) {
    EXPECT_EQ(std::system(("bash -n '" + files.write(name, text) + "'").c_str()), 0) << name;
    // sbatch reads its options up to the first command.
    EXPECT_LT(text.rfind("#SBATCH"), text.find("\n\n")) << name;
  }
}

TEST(Scripts, TakeOnlyPlainText) {
  const auto check = [](const JobOptions& options, const char* run = "/r") {
    return [=] { check_scriptable(options, run, "/p"); };
  };
  check(options())();
  for (const char* run : {"/a'b", "/a\nb", "/a%b", "/a$b", "/a\\b", "/a\"b"}) {
    EXPECT_THROW(check(options(), run)(), InputError) << run;
  }
  JobOptions bad = options();
  bad.sbatch = {"--account=a\nrm -r /"};
  EXPECT_THROW(check(bad)(), InputError);
  bad.sbatch = {"account"};
  EXPECT_THROW(check(bad)(), InputError);
  bad = options();
  bad.partition = "a\n#SBATCH -x";
  EXPECT_THROW(check(bad)(), InputError);
}

TEST(Scripts, AreSubmittedAsOneArray) {
  EXPECT_THAT(submit_array("/r/job.sh", "1-8", 3, "aftercorr:7"),
              ElementsAre("sbatch", "--parsable", "--array=1-8%3", "--dependency=aftercorr:7",
                          "/r/job.sh"));
  EXPECT_THAT(submit_array("/r/job.sh", "4", 0),
              ElementsAre("sbatch", "--parsable", "--array=4", "/r/job.sh"));
  EXPECT_THAT(submit_job("/r/merge.sh", "afterany:7"),
              ElementsAre("sbatch", "--parsable", "--dependency=afterany:7", "/r/merge.sh"));
}

// ---- The job script's own decisions, with programs that stand in for the task and scontrol ----

class JobScript : public testing::Test {
 protected:
  JobScript() {
    std::filesystem::create_directories(files_.folder() / "run/attempts/0001");
    program("scontrol", "echo \"$@\" >>'" + path("requeued") + "'\n");
  }
  std::string path(const std::string& name) const { return (files_.folder() / name).string(); }
  void program(const std::string& name, const std::string& text) const {
    files_.write("bin/" + name, "#!/bin/bash\n" + text);
    std::filesystem::permissions(path("bin/" + name), std::filesystem::perms::owner_all);
  }
  /// What the job exits with. `task` is the text of the program; $n counts its starts from 1,
  /// $notes is the folder of notes, $6 the attempt.
  int run(const std::string& task, const std::string& signals = "", int restart = 0) const {
    program("task", "echo start >>'" + path("starts") + "'\nn=$(wc -l <'" + path("starts") +
                        "')\nnotes='" + path("run/attempts/0001") + "'\nready() { touch '" +
                        path("running") + "'; }\n" + task);
    files_.write("job.sh", scripts(options(), path("run"), path("bin/task")).at("job.sh"));
    const std::string command =
        "cd '" + files_.folder().string() + "'\nrm -f running\nPATH='" + path("bin") +
        "':$PATH SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_JOB_ID=77 SLURM_RESTART_COUNT=" +
        std::to_string(restart) + " bash job.sh 2>log & job=$!\n" + signals + "\nwait $job";
    const int status = std::system(("bash -c \"" + escaped(command) + "\"").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '"' || c == '$' || c == '\\' || c == '`') out += '\\';
      out += c;
    }
    return out;
  }
  /// Shell: waits until the task calls `ready`, which it does once its trap is set; then signals
  /// the script.
  std::string when_running(const std::string& signal) const {
    return "while [ ! -e '" + path("running") + "' ]; do sleep 0.01; done; kill -" + signal +
           " $job";
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  std::string text(const std::string& name) const {
    return exists(name) ? read_file(path(name), 1000) : "";
  }

  const ScratchFiles files_;
};

TEST_F(JobScript, EndsWithTheTask) {
  EXPECT_EQ(run("exit 0"), 0);
  EXPECT_EQ(run("exit 2"), 2);
  EXPECT_EQ(text("starts"), "start\nstart\n");
}

TEST_F(JobScript, ADeathIsRecordedAndTheTaskStartsAgain) {
  EXPECT_EQ(run("if ((n < 3)); then touch \"$notes/r-sustained@$6\"; kill -ABRT $$; fi; exit 0"),
            0);
  EXPECT_TRUE(exists("run/attempts/0001/77.0.0.died"));
  EXPECT_TRUE(exists("run/attempts/0001/77.0.1.died"));
  EXPECT_FALSE(exists("run/attempts/0001/77.0.2.died"));
}

TEST_F(JobScript, TermStopsTheTaskAndDoesNotRequeue) {
  const std::string task = "trap 'exit 75' TERM; ready; for i in {1..1000}; do sleep 0.01; done";
  EXPECT_EQ(run(task, when_running("TERM")), 143);
  EXPECT_TRUE(exists("run/attempts/0001/77.0.0.stopped"));
  EXPECT_FALSE(exists("requeued"));
}

TEST_F(JobScript, TheTimeLimitRequeues) {
  const std::string task = "trap 'exit 75' TERM; ready; for i in {1..1000}; do sleep 0.01; done";
  EXPECT_EQ(run(task, when_running("USR2")), 143);
  EXPECT_EQ(text("requeued"), "requeue 77_1\n");
  EXPECT_TRUE(exists("run/attempts/0001/77.0.0.stopped"));
}

TEST_F(JobScript, ALimitThatIsTooShortForARaceEnds) {
  const std::string task = "trap 'exit 76' TERM; ready; for i in {1..1000}; do sleep 0.01; done";
  for (const int restart : {0, 1}) EXPECT_EQ(run(task, when_running("USR2"), restart), 143);
  EXPECT_EQ(run(task, when_running("USR2"), 2), 1);
  EXPECT_EQ(text("requeued"), "requeue 77_1\nrequeue 77_1\n");
  EXPECT_THAT(text("log"), HasSubstr("too short"));
}

TEST_F(JobScript, ATaskThatDiesWhileItIsStoppedIsNotBlamed) {
  const std::string task =
      "touch \"$notes/r-sustained@$6\"; trap 'kill -KILL $$' TERM; ready; "
      "for i in {1..1000}; do sleep 0.01; done";
  EXPECT_EQ(run(task, when_running("TERM")), 143);
  EXPECT_FALSE(exists("run/attempts/0001/77.0.0.died"));
  EXPECT_TRUE(exists("run/attempts/0001/77.0.0.stopped"));
}

}  // namespace
}  // namespace hgemm::sweep
