// Every text of --help, in one place: what each command is for, its options, and an example.
#pragma once

namespace hgemm::cli::help {

inline constexpr const char* kProgram =
    "Finds the fastest verified kernel for each GEMM shape on this Hopper GPU, and says how it\n"
    "stands against cuBLAS. Compiles a grid of configurations, verifies each one's result, races\n"
    "them in turns with cuBLAS, and keeps every trial in a database: run the same command again\n"
    "to go on where it stopped.\n"
    "\n"
    "Without a Hopper GPU it answers from the results that ship with the program.";
inline constexpr const char* kProgramExamples =
    "Examples:\n"
    "  hgemm-tune --shapes llama7b.yaml              the shapes of a model\n"
    "  hgemm-tune --shapes 4096x4096x1024            one shape, M x N x K\n"
    "  hgemm-tune --shapes square --space full       every configuration there is\n"
    "  hgemm-tune --shapes 8192x8192x8192 --config \\\n"
    "      bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16\n"
    "  hgemm-tune best --format csv > best.csv       what is in the database so far\n"
    "\n"
    "Progress goes to stderr, results to stdout. Exit code: 0 ok, 1 failed, 2 bad usage or input,\n"
    "130 or 143 stopped by a signal (all finished work is kept).";

inline constexpr const char* kPlan = "Count a space: what is valid, what each rule rejects";
inline constexpr const char* kPlanExamples =
    "How many points of the space the kernel can run, how many each rule rejects and why, and the\n"
    "values of each axis among the valid points. Needs no GPU.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune plan --space full\n"
    "  hgemm-tune plan --space full --format json | jq .rejected\n"
    "  hgemm-tune plan --space quick --shapes llama7b.yaml    how many trials that would be";

inline constexpr const char* kBest = "Show the fastest configuration of each recorded shape";
inline constexpr const char* kBestExamples =
    "The fastest verified configuration of each shape in a database, its ratios to cuBLAS and "
    "what\n"
    "ties with it. Measures nothing; needs no GPU.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune best                                        all shapes of ./hgemm-tune.db\n"
    "  hgemm-tune best --db run.db --shapes llama7b.yaml\n"
    "  hgemm-tune best --recorded --format json               the results that ship with it";

inline constexpr const char* kDoctor = "Check what tuning needs, and say what to do";
inline constexpr const char* kDoctorExamples =
    "Driver, GPU, CUDA, NVRTC, compile cache, database: each is ok, or comes with what to do. "
    "Exit\n"
    "code 1 if something that tuning needs is not there.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune doctor\n"
    "  hgemm-tune doctor --environment > environment.json";

inline constexpr const char* kShapes =
    "A YAML file (looked up here, then in configs/shapes; .yaml may be left out) or a list "
    "MxNxK[,MxNxK...]";
inline constexpr const char* kSpace =
    "The search space: a YAML file, or a name from configs/spaces (smoke, quick, full)";
inline constexpr const char* kConfig = "Measure just these configurations, not a space";
inline constexpr const char* kDb = "The database; created by the first run";
inline constexpr const char* kCacheDir =
    "Where compiled kernels are kept (default: $XDG_CACHE_HOME/hgemm-tune or ~/.cache/hgemm-tune)";
inline constexpr const char* kJobs = "Kernels compiled at a time (default: one per CPU)";
inline constexpr const char* kBestFormat = "table, md, json or csv";
inline constexpr const char* kPlanFormat = "table or json";
inline constexpr const char* kRequireGpu =
    "Fail if there is no Hopper GPU, instead of answering from recorded results";
inline constexpr const char* kSeed =
    "Seed of the input data and of the order of measurement (default: a fresh one, kept in the "
    "database)";
inline constexpr const char* kRecorded = "Ask the results that ship with the program";
inline constexpr const char* kKernelHash = "Print only the hash of the kernel sources";
inline constexpr const char* kEnvironment =
    "Print only the environment that trials would be recorded in, as JSON (needs a Hopper GPU)";

}  // namespace hgemm::cli::help
