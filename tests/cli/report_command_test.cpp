// `hgemm-tune report` from a database to a page: what it writes, what it says, what is wrong with
// the page in a browser, and the statistics of what the figures of the recorded results show.
#include <gmock/gmock.h>

#include <sys/stat.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "families/family.h"
#include "studies/micro/points.h"
#include "tests/cli/program.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string> kFigures = {"speedups",   "roofline", "sustained",
                                           "ladder",     "cycles",   "wgmma",
                                           "tile-order", "tiles",    "search"};

/// What differs by more than rounding, as "a.b[3]: 1 instead of 2".
void compare(const json& now, const json& golden, const std::string& where,
             std::vector<std::string>& different) {
  const auto differ = [&] {
    different.push_back(where + ": " + now.dump() + " instead of " + golden.dump());
  };
  if (now.is_number() && golden.is_number()) {
    const double a = now, b = golden;
    // What searches find depends on the cost model, too, which is not what is tested here.
    const double tolerance = where.starts_with(".search") ? 0.03 : 1e-3;
    if (std::abs(a - b) > tolerance * std::max(1.0, std::abs(b))) differ();
  } else if (now.type() != golden.type() || now.size() != golden.size()) {
    differ();
  } else if (now.is_object()) {
    for (const auto& [key, value] : golden.items()) {
      if (now.contains(key)) {
        compare(now[key], value, where + "." + key, different);
      } else {
        different.push_back(where + ": lacks " + key);
      }
    }
  } else if (now.is_array()) {
    for (std::size_t i = 0; i < golden.size(); ++i) {
      compare(now[i], golden[i], where + "[" + std::to_string(i) + "]", different);
    }
  } else if (now != golden) {
    differ();
  }
}

class ReportCommand : public ProgramTest {
 protected:
  json figures(const std::string& folder = "out") const {
    return json::parse(read_file(this->folder() / folder / "figures/figures.json"));
  }

  /// What check_page.py says of a page; none if there is no Chromium.
  std::optional<Outcome> open_in_browser(const fs::path& page,
                                         const std::vector<std::string>& names) const {
    return in_browser("check_page.py", page, names);
  }

  /// What explore_report.py says of it, which uses it as a reader does.
  std::optional<Outcome> explore_in_browser(const fs::path& page, const std::string& shape) const {
    return in_browser("explore_report.py", page, {shape});
  }

  std::optional<Outcome> in_browser(const std::string& script, const fs::path& page,
                                    const std::vector<std::string>& arguments) const {
    if (std::system("command -v chromium >/dev/null") != 0) return std::nullopt;
    std::string command = "python3 -B '" HGEMM_SOURCE_DIR "/tests/cli/" + script + "' chromium '" +
                          page.string() + "'";
    for (const std::string& argument : arguments) command += " '" + argument + "'";
    const fs::path out = folder() / "check.txt";
    const int status = std::system((command + " >'" + out.string() + "' 2>&1").c_str());
    return Outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), ""};
  }

  /// A race of configs that differ in tile, order and PDL kind.
  Race race_of_many(double time_us) const {
    Race many = race(problem(4096, 4096, 4096));
    for (const int bn : {64, 128, 192, 256}) {
      for (const TileOrder order : {TileOrder::kLinear, TileOrder::kHilbert}) {
        for (const bool pdl : {false, true}) {
          const TiledConfig config{.bn = bn, .order = order, .pdl = pdl};
          many.trials.push_back(finalist(label(config), time_us + bn / 16.0 + (pdl ? 1 : 0)));
        }
      }
    }
    return many;
  }
};

TEST_F(ReportCommand, RecordedResultsMakeAPageWithoutFaultWhoseFiguresShowWhatTheyDid) {
  const Outcome outcome = run("report --recorded -o out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("9 of 9 figures"), Not(HasSubstr("not recorded")),
                                 ContainsRegex("In [0-9.]+ s: [0-9.]+ to read, [0-9.]+ to draw")));
  EXPECT_EQ(outcome.err, "");

  const std::string page = read_file(folder() / "out/report.html");
  EXPECT_LT(page.size(), 8'000'000u);
  EXPECT_THAT(page, Not(ContainsRegex("(src|href)=\"(https?:)?//"))) << "it must need no network";
  json statistics;
  const json drawn = figures();
  for (const std::string& name : kFigures) {
    for (const char* suffix : {".svg", ".png", "-dark.png"}) {
      EXPECT_GT(fs::file_size(folder() / "out/figures" / (name + suffix)), 5000u) << name << suffix;
    }
    const json& figure = drawn.at(name);
    EXPECT_THAT(figure.at("where").get<std::string>(),
                AllOf(HasSubstr("NVIDIA H200"), HasSubstr("2026-"),
                      ContainsRegex("sustained|burst|whatever the clock")))
        << name;
    EXPECT_THAT(figure.at("commands").at(0).get<std::string>(), HasSubstr("hgemm-tune ")) << name;
    EXPECT_THAT(figure.at("see").get<std::string>(), Not(IsEmpty())) << name;
    statistics[name] = figure.at("stats");
  }
  const fs::path golden = HGEMM_SOURCE_DIR "/tests/cli/report_golden.json";
  std::vector<std::string> different;
  compare(statistics, json::parse(read_file(golden)), "", different);
  EXPECT_THAT(different, IsEmpty())
      << "If results/ was recorded anew, look at the report, then replace " << golden << " by:\n"
      << statistics.dump(1);

  const auto seen = open_in_browser(folder() / "out/report.html", kFigures);
  if (!seen) GTEST_SKIP() << "no Chromium here: the page was not opened";
  EXPECT_EQ(seen->exit_code, 0) << seen->out;
  const auto used = explore_in_browser(folder() / "out/report.html", "2048x4096x11008");
  ASSERT_TRUE(used);
  EXPECT_EQ(used->exit_code, 0) << used->out;
}

TEST_F(ReportCommand, ThePageOfADatabaseAnswersToKeyboardAndPointer) {
  record(folder() / "some.db", {race_of_many(20), race(problem(16, 4096, 4096))});
  const Outcome outcome = run("report --db some.db -o out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto used = explore_in_browser(folder() / "out/report.html", "4096x4096x4096");
  if (!used) GTEST_SKIP() << "no Chromium here: the page was not used";
  EXPECT_EQ(used->exit_code, 0) << used->out;
}

TEST_F(ReportCommand, ThePageSaysWhatChangedSinceAnEarlierDatabase) {
  record(folder() / "old.db", {race_of_many(30)});
  record(folder() / "new.db", {race_of_many(20)});
  const Outcome outcome = run("report --before old.db --db new.db -o out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json data = json::parse(read_file(folder() / "out/report.json"));
  ASSERT_EQ(data.at("comparison").at("rows").size(), 1u);
  EXPECT_EQ(data.at("comparison").at("names"), json({"old.db", "new.db"}));
  EXPECT_THAT(read_file(folder() / "out/report.html"), HasSubstr("<section id=\"compared\""));
  const auto seen = open_in_browser(folder() / "out/report.html", {"speedups", "roofline"});
  if (seen) {
    EXPECT_EQ(seen->exit_code, 0) << seen->out;
  }

  const Outcome gone = run("report --before gone.db --db new.db -o out");
  EXPECT_EQ(gone.exit_code, 2);
  EXPECT_THAT(gone.err, HasSubstr("there is no database gone.db"));
}

TEST_F(ReportCommand, WithoutD3ThePageHasStillFiguresAndSaysWhatToInstall) {
  record(folder() / "some.db", {race_of_many(20)});
  // A Python that finds no file of another package.
  write_file(folder() / "drawing.py",
             "import runpy, sys\n"
             "sys.argv = sys.argv[1:]\n"
             "sys.path.insert(0, __import__('os').path.dirname(sys.argv[0]))\n"
             "import pathlib\n"
             "real = pathlib.Path.read_text\n"
             "def read_text(self, *a, **k):\n"
             "    if self.name.startswith('d3'): raise FileNotFoundError(self)\n"
             "    return real(self, *a, **k)\n"
             "pathlib.Path.read_text = read_text\n"
             "runpy.run_path(sys.argv[0], run_name='__main__')\n");
  write_file(folder() / "python",
             "#!/bin/sh\ncase \"$3\" in -c) exit 0;; esac\n"
             "for python in python3 /usr/bin/python3; do\n"
             "  \"$python\" -c 'import matplotlib' 2>/dev/null && shift 2 && "
             "exec \"$python\" -I -B drawing.py \"$@\"\ndone\nexit 9\n");
  fs::permissions(folder() / "python", fs::perms::owner_all);
  const Outcome outcome =
      run("report --db some.db -o out", "export HGEMM_TUNE_PYTHON=\"$PWD/python\"");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("no D3 here"), HasSubstr("apt-get install node-d3")));
  EXPECT_THAT(read_file(folder() / "out/report.html"), Not(HasSubstr("d3js.org")));
  const auto seen = open_in_browser(folder() / "out/report.html", {"speedups", "roofline"});
  if (!seen) GTEST_SKIP() << "no Chromium here: the page was not opened";
  EXPECT_EQ(seen->exit_code, 0) << seen->out;
}

TEST_F(ReportCommand, TheCheckOfAPageSeesFaults) {
  const fs::path page = folder() / "page.html";
  write_file(page,
             "<!doctype html><meta name=viewport content=width=device-width>"
             "<div style='width:2000px'>x</div><script>console.error('oh no')</script>"
             "<img src='gone.png'>");
  const auto seen = open_in_browser(page, {"roofline"});
  if (!seen) GTEST_SKIP() << "no Chromium here";
  EXPECT_EQ(seen->exit_code, 1);
  EXPECT_THAT(seen->out, AllOf(HasSubstr("oh no"), HasSubstr("scrolls sideways"),
                               HasSubstr("figure roofline is not there"), HasSubstr("gone.png"),
                               HasSubstr("look the same")));
}

TEST_F(ReportCommand, ADatabaseWithLittleInItHasLabelledGaps) {
  record(folder() / "little.db", {race(problem(4096, 4096, 4096)), race(problem(16, 4096, 4096))});
  const Outcome outcome = run("report --db little.db -o out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("not recorded: Power and clock, The ladder, Cycles, wgmma, "
                                     "Tile sizes, Search"));
  const json drawn = figures();
  EXPECT_EQ(drawn.at("ladder").at("stats"), json({{"missing", true}}));
  EXPECT_THAT(drawn.at("ladder").at("see").get<std::string>(), HasSubstr("hgemm-tune ladder"));
  EXPECT_EQ(drawn.at("roofline").at("stats").at("points"), 2);
  EXPECT_THAT(read_file(folder() / "out/report.html"),
              HasSubstr("No step of the ladder was timed"));
}

TEST_F(ReportCommand, ARaceThatMeasuredAPartOfTheSpaceDoesNotSayThatTheRestIsInvalid) {
  Race cut = race(problem(4096, 4096, 4096));
  for (int bn = 8; bn <= 256; bn += 8) {
    for (const int bm : {64, 128}) {
      for (const int bk : {32, 64}) {
        const TiledConfig config{.bm = bm, .bn = bn, .bk = bk, .consumers = bm / 64};
        cut.trials.push_back(finalist(label(config), 20));
      }
    }
  }
  record(folder() / "cut.db", {cut});
  const Outcome outcome = run("report --db cut.db -o out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json tiles = figures().at("tiles");
  EXPECT_GT(tiles.at("stats").at("shown").at(0).at("not_measured"), 0);
  EXPECT_THAT(tiles.at("see").get<std::string>(),
              HasSubstr("Hatched: the space full has valid configs with this tile, and none"));
}

TEST_F(ReportCommand, ADatabaseOfStudiesAloneHasLabelledGaps) {
  Store store = Store::open((folder() / "studies.db").string(), Store::Mode::kReadWrite);
  Study micro;
  micro.kind = kMicroStudy;
  micro.label = "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1";
  micro.figures = {{.point = "",
                    .metric = "cycles",
                    .unit = "clk",
                    .value = 64,
                    .low = 64,
                    .high = 64,
                    .samples = 5}};
  store.record_study(store.begin_run(machine(), "hgemm-tune micro"), micro);
  const Outcome outcome = run("report --db studies.db -o out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 of 9 figures; not recorded: Speed-ups, Roofline,"));
  EXPECT_EQ(figures().at("wgmma").at("stats").at("measured"), 1);
}

TEST_F(ReportCommand, DrawsTagsAsTheyAre) {
  std::vector<Race> races;
  // What is in a tag before "/" is a heading of a figure.
  for (const char* tag :
       {"$x^$", "$\\frac{", "\\frac^_{}$", "<script>alert(1)</script>", "&amp;<!--",
        "\xf0\x9f\x98\x80", "\xe2\x80\x8f\xd7\x90\xd7\x91", "100% %s {0}", "\" id=\"x\" url(#x)"}) {
    races.push_back(race(problem(4096, 4096, 512 + 64 * static_cast<int>(races.size()))));
    races.back().problem.tag = std::string(tag) + "/a";
  }
  races.push_back(race(problem(4096, 4096, 8192)));
  races.back().problem.tag = std::string(900, 'x');
  record(folder() / "tags.db", races);
  const Outcome outcome = run("report --db tags.db -o out");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << "no warnings";
  const std::string page = read_file(folder() / "out/report.html");
  EXPECT_THAT(page, AllOf(HasSubstr("$x^$"), HasSubstr("\\u003cscript>alert(1)\\u003c"),
                          Not(HasSubstr("<script>alert")), HasSubstr("&amp;\\u003c!--"),
                          Not(HasSubstr("mathdefault"))));
  const std::string svg = (folder() / "out/figures/speedups.svg").string();
  EXPECT_EQ(
      std::system(("python3 -c \"import xml.dom.minidom as m; m.parse('" + svg + "')\"").c_str()),
      0);
  const auto seen = open_in_browser(folder() / "out/report.html", {"roofline", "speedups"});
  if (!seen) return;
  EXPECT_EQ(seen->exit_code, 0) << seen->out;
}

TEST_F(ReportCommand, RunsNoPythonOfTheWorkingFolderOrTheEnvironment) {
  record(folder() / "some.db", {race(problem(4096, 4096, 4096))});
  for (const char* name : {"matplotlib", "json", "sitecustomize", "usercustomize", "numpy",
                           "report_style", "importlib"}) {
    write_file(folder() / (std::string(name) + ".py"),
               "open('executed', 'w')\nraise SystemExit(3)");
  }
  const Outcome outcome = run("report --db some.db -o out", "export PYTHONPATH=\"$PWD\"");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(folder() / "executed"));
}

TEST_F(ReportCommand, AFailureLeavesThePreviousReport) {
  record(folder() / "some.db", {race(problem(4096, 4096, 4096))});
  ASSERT_EQ(run("report --db some.db -o out").exit_code, 0);
  const auto all = files();
  const std::string page = read_file(folder() / "out/report.html");
  const std::string data = read_file(folder() / "out/report.json");
  // A Python that ends after some files, and one that the disk stops.
  write_file(folder() / "../python",
             "#!/bin/sh\ncase \"$3\" in -c) exit 0;; esac\n"
             "echo half >\"$5/report.html\"\nexit 7\n");
  fs::permissions(folder() / "../python", fs::perms::owner_all);
  const Outcome broken =
      run("report --db some.db -o out", "export HGEMM_TUNE_PYTHON=\"$PWD/../python\"");
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("nothing was written to out"), HasSubstr("exit code 7")));
  const Outcome full = run("report --db some.db -o out", "trap '' XFSZ; ulimit -f 80");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("File too large"), Not(HasSubstr("Traceback"))));
  EXPECT_EQ(files(), all);
  EXPECT_EQ(read_file(folder() / "out/report.html"), page);
  EXPECT_EQ(read_file(folder() / "out/report.json"), data);
}

TEST_F(ReportCommand, PythonEndsWithTheProgram) {
  record(folder() / "some.db", {race(problem(4096, 4096, 4096))});
  // Tells its process id and waits; a reader of the pipe sees its end.
  ASSERT_EQ(mkfifo((folder() / "pipe").c_str(), 0600), 0);
  write_file(folder() / "python",
             "#!/bin/sh\ncase \"$3\" in -c) exit 0;; esac\n"
             "exec 9>pipe; echo drawing >&9; exec sleep 600\n");
  fs::permissions(folder() / "python", fs::perms::owner_all);
  for (const char* signal : {"TERM", "KILL"}) {
    run(std::string(
            "--version; '" HGEMM_PROGRAM
            "' report --db some.db -o out & program=$!; exec 8<pipe; read word <&8; kill -") +
            signal + " $program; wait $program; timeout 20 cat <&8; echo $? >ended.txt; true",
        "export HGEMM_TUNE_PYTHON=\"$PWD/python\"");
    EXPECT_EQ(read_file(folder() / "ended.txt"), "0\n") << "it outlives " << signal;
    EXPECT_FALSE(fs::exists(folder() / "out"));
    fs::remove(folder() / "ended.txt");
    if (std::string(signal) == "KILL") continue;
    EXPECT_THAT(files(), Not(testing::Contains(HasSubstr("hgemm-new")))) << "left behind";
  }
}

TEST_F(ReportCommand, SaysWhatIsWrongAndWhatToDo) {
  record(folder() / "some.db", {race(problem(4096, 4096, 4096))});

  const Outcome no_folder = run("report --db some.db");
  EXPECT_EQ(no_folder.exit_code, 2);
  EXPECT_THAT(no_folder.err, HasSubstr("--output"));

  const Outcome no_database = run("report --db gone.db -o out");
  EXPECT_EQ(no_database.exit_code, 2);
  EXPECT_THAT(no_database.err, HasSubstr("there is no database gone.db"));

  const Outcome both = run("report --db some.db --recorded -o out");
  EXPECT_EQ(both.exit_code, 2);

  const Outcome file = run("report --db some.db -o some.db");
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_THAT(file.err, HasSubstr("-o some.db"));

  const Outcome wrong_python =
      run("report --db some.db -o out", "export HGEMM_TUNE_PYTHON=/bin/false");
  EXPECT_EQ(wrong_python.exit_code, 2);
  EXPECT_THAT(wrong_python.err,
              AllOf(HasSubstr("$HGEMM_TUNE_PYTHON is /bin/false"), HasSubstr("matplotlib")));
  EXPECT_FALSE(fs::exists(folder() / "out")) << "nothing is left half-written";
}

}  // namespace
}  // namespace hgemm
