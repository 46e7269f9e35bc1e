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
    "  hgemm-tune --shapes llama7b.yaml --budget 20s     in less time than the 60 s it may take\n"
    "  hgemm-tune --shapes square --budget 3%        the likeliest configurations, measured "
    "longer\n"
    "  hgemm-tune --shapes square --budget all       every configuration there is\n"
    "  hgemm-tune --shapes 8192x8192x8192 --config \\\n"
    "      bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16\n"
    "  hgemm-tune --shapes llama7b.yaml --regime both    also in short work after idle time\n"
    "  hgemm-tune --shapes square --objective energy     the fewest joules per GEMM\n"
    "  hgemm-tune best --format csv > best.csv       what is in the database so far\n"
    "\n"
    "Within a time each shape gets its share, and what is short of time is measured in brief: "
    "good\n"
    "enough to choose by, and marked. A share, a number or all is always measured at full effort.\n"
    "\n"
    "Regimes: sustained is work without a pause, as in training, where the power cap sets the "
    "clock;\n"
    "burst is short work after idle time, at a higher clock. A database holds both, and each has "
    "its\n"
    "own best kernels. One process at a time writes a database; others can read it meanwhile.\n"
    "\n"
    "Progress goes to stderr, results to stdout. Exit code: 0 ok, 1 failed, 2 bad usage or input,\n"
    "130 or 143 stopped by a signal (all finished work is kept).";

inline constexpr const char* kPlan = "Count a space: what is valid, what each rule rejects";
inline constexpr const char* kPlanExamples =
    "How many points of the space the kernel can run, how many each rule rejects and why, and the\n"
    "values of each axis among the valid points. Needs no GPU.\n"
    "\n"
    "A config is written as its label, one field per axis: tile bm x bn, depth bk of a stage, q\n"
    "stages, cluster c, schedule and consumers (coop2 shares a tile's rows, cols2 its columns,\n"
    "pp2 takes turns; swap2, another kernel, has tiles of few rows: B is wgmma's 64-row operand;\n"
    "vec2, a third, multiplies up to 16 rows of A or of B by CUDA cores),\n"
    "d wgmmas in flight, order (linear, hilbert; bands of rows group8, snake8, of columns\n"
    "ngroup8, nsnake8), epilogue (direct, tma, late; staged for any D), walk (persist, dynamic,\n"
    "single; cut along K: split4, csplit4 in a cluster, stream), dtype. Then, if not the default,\n"
    "what L2 is told (afirst|alast, bfirst|blast, dfirst|dlast, p64|p128), two CTAs on an SM "
    "(cta2), programmatic\n"
    "dependent launch (pdl), A and B copied first where their rows are not aligned (pack), and "
    "the\n"
    "one problem that the kernel is made for (for512x512x512).\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune plan --space full\n"
    "  hgemm-tune plan --space full --format json | jq .rejected\n"
    "  hgemm-tune plan --space quick --shapes llama7b.yaml    how many trials that would be\n"
    "  hgemm-tune plan --explain --space full --shapes 16x4096x4096    what should be fast, and "
    "why";
inline constexpr const char* kExplain =
    "Show what the cost model expects of configs at each shape, term by term";
inline constexpr const char* kExplainTop = "With --explain: so many, the fastest first";
inline constexpr const char* kExplainConfig =
    "With --explain: these configurations instead of the space's";
inline constexpr const char* kExplainDevice =
    "With --explain: for this GPU of configs/devices.yaml";

inline constexpr const char* kExplainDb =
    "With --explain: a database of `hgemm-tune micro`, whose figures of this GPU take the place of "
    "the H200's (a tune takes those that its own database has)";

inline constexpr const char* kPredict =
    "Instead: a config of the space full for shapes that were never measured, by the cost model "
    "corrected with what was measured at others, and how far off such predictions are";
inline constexpr const char* kMaxKernels =
    "Instead: so many kernels at most for all shapes together, and what each shape loses by it "
    "(with --recorded from the whole space)";
inline constexpr const char* kReplay = "Play a search again on recorded races: how near it came";
inline constexpr const char* kReplayExamples =
    "Answers how much of a space must be measured to come how near to its best, with no GPU: each\n"
    "search proposes configs, as a tune of that --strategy and --budget would, and those that "
    "learn\n"
    "are told once what a race found out about the first of them. Strategies:\n"
    "  model       in the cost model's order (`plan --explain`), a tenth of the budget at random\n"
    "  staged      so with half of the budget, one of each family: configs that differ in nothing\n"
    "              but tile order, L2 hints, and being made for the shape; then all of the "
    "fastest\n"
    "              families\n"
    "  adaptive    as model with 40 % of it, then by predictions corrected by what these took\n"
    "  local       the model's favourites with 15 % of it, then what is nearest to the best of "
    "these\n"
    "  random      in a random order: what any search must beat\n"
    "  exhaustive  all, whatever the budget\n"
    "A row's \"of the best\" is the speed of the fastest that was measured over that of the "
    "fastest of\n"
    "all (median of the seeds). What only screening measured counts as no faster than the median\n"
    "finalist. Some constants of the cost model were chosen with the recorded truth in view: on\n"
    "other shapes it can be worse.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune replay                                    the recorded truth, 3 % of the space\n"
    "  hgemm-tune replay --strategy model,local,random --budget 1%\n"
    "  hgemm-tune replay --db mine.db --shapes 4096x4096x4096 --budget 50 --format json\n"
    "  hgemm-tune replay --found hgemm-tune.db              what a tune really found, by the same";
inline constexpr const char* kReplayFound =
    "Instead of a search: the winners in these databases, judged by what was recorded of all";
inline constexpr const char* kReplayDb =
    "Races of a whole space (default: the truth that ships with the program)";
inline constexpr const char* kReplayStrategy = "model, staged, adaptive, local, random, exhaustive";
inline constexpr const char* kReplayBudget =
    "What may be measured: a share of the configs, or so many";
inline constexpr const char* kReplaySeeds = "Searches of each row, each with other random choices";

inline constexpr const char* kLadder = "Climb from a naive kernel to the fastest, step by step";
inline constexpr const char* kLadderExamples =
    "Small kernels, each one step better than the one before: verified, timed in turns with cuBLAS "
    "in\n"
    "short work after idle time, with where its cycles go (another build, with stamps), what the\n"
    "hardware counted, and the figure that was published of it. Read them in kernels/ladder/.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune ladder                                     all Hopper steps at 8192x8192x8192\n"
    "  hgemm-tune ladder --steps hopper.03,hopper.04         what warp specialisation gives\n"
    "  hgemm-tune ladder --shape 4096x4096x4096 --dtype fp16\n"
    "  hgemm-tune ladder --shape 4096x4096x4096 --dtype fp32 --steps cuda_core\n"
    "  hgemm-tune ladder --recorded --format md              the results that ship with it\n"
    "\n"
    "Exit code: 0 ok, 1 some failed, 2 bad usage or input, 130 or 143 stopped by a signal.";
inline constexpr const char* kLadderShape = "The shape of all steps; a multiple of their tiles";
inline constexpr const char* kLadderSteps =
    "Steps (hopper.03) or whole families (cuda_core, tensor_core, hopper), with commas between";
inline constexpr const char* kLadderDtype = "Type of A, B and D, in place of the shape's";

inline constexpr const char* kChain =
    "Time a decoder's GEMMs in a row, with and without PDL, beside cuBLAS";
inline constexpr const char* kChainExamples =
    "The GEMMs of a decoder's step, one after another in one CUDA graph: each reads a weight of\n"
    "its own and what the one before it wrote. A layer has each shape as often as its weight\n"
    "says (over the median weight, rounded), and layers are repeated until the chain is long\n"
    "enough: one chain for each M, type and model. Three ways to compute it, timed in turns at\n"
    "full load: the best known kernels that wait for the one before them; the best known with\n"
    "programmatic dependent launch (PDL), which read their weight while that one drains; and\n"
    "cublasGemmEx, which has no PDL in its API.\n"
    "\n"
    "Before that, every output is compared with an fp32 reference of the inputs that it had,\n"
    "and a chain as a graph must give the bits that its kernels give one by one.\n"
    "\n"
    "TB/s counts the weights, beside the speed at which this GPU was measured to read memory\n"
    "(configs/devices.yaml).\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune chain --shapes llama7b-decode.yaml               a chain for each M\n"
    "  hgemm-tune chain --shapes llama7b-decode.yaml --m 1,16 --length 32\n"
    "  hgemm-tune chain --shapes 1x4096x4096,1x11008x4096,1x4096x11008\n"
    "  hgemm-tune chain --shapes 16x4096x4096 --config \\\n"
    "      bm16.bn64.bk128.q5.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128\n"
    "\n"
    "Exit code: 0 ok, 1 some failed, 2 bad usage or input, 130 or 143 stopped by a signal.";
inline constexpr const char* kChainRows = "Only chains with so many rows of A (default: each M)";
inline constexpr const char* kChainLength = "GEMMs in a chain";
inline constexpr const char* kChainConfig =
    "All links by this configuration, without and with PDL, not by the best known ones";

inline constexpr const char* kBest = "Show the fastest configuration of each recorded shape";
inline constexpr const char* kBestExamples =
    "The fastest verified configuration of each shape in a database, its ratios to cuBLAS and "
    "what\n"
    "ties with it. Measures nothing; needs no GPU.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune best                                        all shapes of ./hgemm-tune.db\n"
    "  hgemm-tune best --db run.db --shapes llama7b.yaml\n"
    "  hgemm-tune best --regime burst                         those for short work only\n"
    "  hgemm-tune best --objective energy                     by joules, where they were measured\n"
    "  hgemm-tune best --recorded --format json               the results that ship with it";

inline constexpr const char* kReport = "Draw what was recorded: a page and its figures";
inline constexpr const char* kReportExamples =
    "Writes DIR/report.html, one page that needs nothing else (light and dark, for a screen or a\n"
    "phone, no network), its figures as DIR/figures/*.svg and *.png, and DIR/report.json, the "
    "data\n"
    "that they were drawn from. Measures nothing; needs no GPU.\n"
    "\n"
    "What it draws, and which command records that:\n"
    "  roofline, speed-ups, power     hgemm-tune --shapes FILE --regime both\n"
    "  tile sizes, search progress    hgemm-tune --shapes FILE --budget all\n"
    "  ladder                         hgemm-tune ladder\n"
    "  cycles, order of tiles         hgemm-tune probe --trace FILE, hgemm-tune counters\n"
    "  wgmma                          hgemm-tune micro --only wgmma\n"
    "What was not recorded is a gap that says so. A report is of one kind of GPU, the one with "
    "the\n"
    "newest results, and names the others.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune report -o report                            of ./hgemm-tune.db\n"
    "  hgemm-tune report --db run.db -o report\n"
    "  hgemm-tune report --recorded -o h200                   the results that ship with it\n"
    "\n"
    "Needs Python 3 with matplotlib (Debian: apt-get install python3-matplotlib): that of\n"
    "$HGEMM_TUNE_PYTHON, else of a folder .venv beside the program or above it, else python3 on\n"
    "PATH, else /usr/bin/python3.\n"
    "\n"
    "Exit code: 0 written, 1 no Python that can draw or it failed, 2 bad usage or input.";
inline constexpr const char* kReportDb = "The database that is drawn; only read";
inline constexpr const char* kReportOutput =
    "The folder that it is written to; created if it is not there";

inline constexpr const char* kCompare = "Compare two databases: what became slower";
inline constexpr const char* kCompareExamples =
    "The winners of two databases side by side, shape by shape and regime by regime: how the "
    "ratio\n"
    "to cuBLAS changed from A to B, with an interval, and so what is slower, the same or faster;\n"
    "time, and cycles, which leave out the clock; then how well results repeat. Reads both, "
    "writes\n"
    "nothing; needs no GPU.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune compare before.db after.db                      a change of driver or kernels\n"
    "  hgemm-tune compare monday.db tuesday.db --format md        do results repeat?\n"
    "  hgemm-tune compare good.db new.db --fail-on-regression     in CI: exit 1 if a row is "
    "slower\n"
    "\n"
    "Exit code: 0 compared, 1 nothing to compare (or a regression that was to fail), 2 bad input.";

inline constexpr const char* kMerge = "Merge databases into one";
inline constexpr const char* kMergeExamples =
    "Adds all that the given databases hold to OUT.db, which is created if it is not there. What "
    "it\n"
    "has already is not added again, so that merging is safe to repeat. Databases of different\n"
    "environments (GPU, driver, toolkit, kernel sources) are refused before anything is written;\n"
    "--mixed merges them: best then answers each shape from its newest environment. Needs no GPU.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune merge llama.db square.db -o all.db\n"
    "  hgemm-tune merge today.db -o all.db                        again and again\n"
    "  hgemm-tune merge h100.db h200.db -o both.db --mixed";

inline constexpr const char* kVerify = "Check the recorded winners again, with fresh data";
inline constexpr const char* kVerifyExamples =
    "Compiles the best configuration of each recorded shape from this program's kernel sources "
    "and\n"
    "compares its result with an fp32 reference, on random data that it has not seen. A line per\n"
    "winner: the largest error against the tolerance, and ok or what went wrong. A failure is\n"
    "recorded, and best no longer counts that configuration. Needs the GPU, driver and kernel\n"
    "sources that the winners were recorded with.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune verify                                      all winners of ./hgemm-tune.db\n"
    "  hgemm-tune verify --db run.db --shapes llama7b.yaml --draws 10\n"
    "  hgemm-tune verify --seed 7                             the same draws each time\n"
    "\n"
    "Exit code: 0 all are correct, 1 some failed (or there is no GPU), 2 nothing to verify.";

inline constexpr const char* kMicro = "Measure what instructions and data paths of this GPU cost";
inline constexpr const char* kMicroExamples =
    "Microbenchmarks: wgmma and mma.sync by shape, type, operand source and data, back to back "
    "and\n"
    "alone; TMA, bulk copies and loads from L2 and HBM against bytes in flight; barriers, "
    "stmatrix\n"
    "and distributed shared memory; wgmma while TMA fills shared memory. Each is measured once "
    "and\n"
    "kept in the database; the same command goes on where it stopped. About a minute on the GPU.\n"
    "\n"
    "Without a Hopper GPU it answers from the results that ship with the program.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune micro                                       the default plan\n"
    "  hgemm-tune micro --only wgmma.m64n128                  all labels that begin so\n"
    "  hgemm-tune micro --only 'tma.*.hbm.*,mbarrier'         patterns\n"
    "  hgemm-tune micro --list --full                         what there is; measures nothing\n"
    "  hgemm-tune micro --recorded --format csv > micro.csv\n"
    "\n"
    "Exit code: 0 ok, 1 some failed, 2 bad usage or input, 130 or 143 stopped by a signal.";
inline constexpr const char* kMicroOnly =
    "Only these microbenchmarks: labels, beginnings of labels, or patterns with * and ?";
inline constexpr const char* kMicroFull =
    "The cross product of all axes, thousands, instead of a choice that covers each axis";
inline constexpr const char* kMicroList = "List the labels and measure nothing";
inline constexpr const char* kCounters = "Show what the hardware counts in our kernel and cuBLAS";
inline constexpr const char* kCountersExamples =
    "One launch of the best known kernel of each shape, of cuBLAS and of others by name, with the\n"
    "hardware's counters: tensor pipe, L2 hits, DRAM and L2 traffic, multicast, shared memory, "
    "and\n"
    "what the warps wait for. Nothing is timed. Reading counters needs permission: doctor says\n"
    "whether it is there. Without it, or without a GPU, recorded results answer.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune counters --shapes 8192x8192x8192             the best known config and cublas\n"
    "  hgemm-tune counters --shapes square --cublaslt          and the best cuBLASLt algorithm\n"
    "  hgemm-tune counters --shapes 8192x8192x8192 --config \\\n"
    "      bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16,cublaslt.0\n"
    "\n"
    "Exit code: 0 ok, 1 some failed, 2 bad usage or input, 130 or 143 stopped by a signal.";
inline constexpr const char* kCountersConfig =
    "Just these (labels of configs and ladder steps, cublaslt.<index>) beside cublas, not the best "
    "known config";
inline constexpr const char* kCountersCublasLt =
    "Also the best cuBLASLt algorithm that was recorded at each shape";
inline constexpr const char* kProbe = "Show where a kernel's cycles go, by stamps inside it";
inline constexpr const char* kProbeExamples =
    "Builds the kernel once more with cycle stamps and runs it: what producer and consumers wait\n"
    "for and work at, per k block and tile; load, MMA and store; how evenly SMs start and finish;\n"
    "and what the stamps cost. Stamped builds are never timed against others. Without --config:\n"
    "the fastest configuration of the shape in --db, else in the results that ship with it, or\n"
    "the next one that stamps can follow (not pp, swap or vec, not cut\n"
    "along K or from a queue, nothing packed, not 256x200).\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune probe --shapes 8192x8192x8192\n"
    "  hgemm-tune probe --shapes 4096x4096x4096 --config \\\n"
    "      bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16\n"
    "  hgemm-tune probe --shapes 4096x4096x4096 --trace trace.json    open it in ui.perfetto.dev\n"
    "\n"
    "Exit code: 0 ok, 1 some failed, 2 bad usage or input, 130 or 143 stopped by a signal.";

inline constexpr const char* kExport = "Write tuned kernels and configs for other projects";
inline constexpr const char* kExportExamples =
    "Formats:\n"
    "  cpp       a source package: a C++ and a C interface, the kernels, CMakeLists.txt; builds "
    "with\n"
    "            CUDA 13 alone, and falls back for shapes that were not tuned\n"
    "  json, csv, md   the table: shape, config, time, ratio to cuBLAS, provenance\n"
    "  triton    a list of triton.Config and an autotuner's results for a tl.dot matmul\n"
    "  vllm      N=...,K=...,device_name=...,dtype=....json, a config for each batch size\n"
    "  cutlass   a kernel filter and the command lines of cutlass_profiler\n"
    "Each says which GPU, driver and CUDA it was measured on, and for each row the command that\n"
    "measures it again. Measures nothing; needs no GPU.\n"
    "\n"
    "Kernels with programmatic dependent launch are left out unless --pdl allows them: of a chain\n"
    "of GEMMs they read the weight before the kernel before them is done, so no kernel may write "
    "it.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune export --format cpp -o hgemm_tuned --recorded --shapes llama7b.yaml\n"
    "  hgemm-tune export --format cpp -o hgemm_tuned --db mine.db --pdl\n"
    "  hgemm-tune export --format cpp -o hgemm_tuned --recorded --max-kernels 12\n"
    "  hgemm-tune export --format vllm -o configs --db mine.db\n"
    "  hgemm-tune export --format json -o . --recorded --regime burst\n"
    "\n"
    "Exit code: 0 ok, 1 failed, 2 bad usage or input.";
inline constexpr const char* kExportFormat = "cpp, json, csv, md, triton, vllm or cutlass";
inline constexpr const char* kExportOutput =
    "The folder that the files go into; created, and files of the same names replaced";
inline constexpr const char* kExportRegime =
    "What was measured in which regime: sustained or burst";
inline constexpr const char* kExportMaxKernels =
    "So many kernels at most for all shapes together (with --recorded from the whole space)";
inline constexpr const char* kExportPdl =
    "Allow kernels with programmatic dependent launch, whose callers must keep a rule";

inline constexpr const char* kDoctor = "Check what tuning needs, and say what to do";
inline constexpr const char* kDoctorExamples =
    "Driver, GPU, CUDA, NVML, clocks, hardware counters, NVRTC, compile cache, database: each is "
    "ok,\n"
    "or comes with what to do. Exit code 1 if something that tuning needs is not there.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune doctor\n"
    "  hgemm-tune doctor --environment > environment.json";

inline constexpr const char* kAdvise =
    "Predict a shape on each GPU: bound, swap-AB, kind of kernel";
inline constexpr const char* kAdviseExamples =
    "From the figures of configs/devices.yaml and a latency model of wgmma: whether memory or the\n"
    "tensor cores bound each shape, the least time it can take, whether swapping A and B pays, "
    "and\n"
    "which kind of kernel it wants (gemv, thin, stream-k, gemm), each with the numbers that\n"
    "decided. Beside it what was measured on that GPU, from --db and from the results that ship\n"
    "with the program: also what swapping was worth, where a race tried both ways. Measures\n"
    "nothing; needs no GPU.\n"
    "\n"
    "Examples:\n"
    "  hgemm-tune advise --shapes llama7b.yaml --device H200\n"
    "  hgemm-tune advise --shapes 1x4096x4096,32x4096x4096    on all devices\n"
    "  hgemm-tune advise --wgmma --device H200                the model, and micro's cycles\n"
    "  hgemm-tune advise --devices                            the figures and their sources";

inline constexpr const char* kShapes =
    "A YAML file (looked up here, then in configs/shapes; .yaml may be left out) or a list "
    "MxNxK[,MxNxK...]; after each there may be its type and leading dimensions "
    "(4096x4096x1000.fp16.lda1024)";
inline constexpr const char* kSpace =
    "The search space: a YAML file, or a name from configs/spaces (smoke, quick, full, decode, "
    "decode-pdl, rows)";
inline constexpr const char* kConfig = "Measure just these configurations, not a space";
inline constexpr const char* kProbeConfig =
    "Configurations to look into (default: the fastest one known of each shape)";
inline constexpr const char* kTrace =
    "Also write a timeline of the first 16 SMs, for ui.perfetto.dev; of one shape and "
    "configuration";
inline constexpr const char* kDb = "The database; created by the first run";
inline constexpr const char* kStudyDb =
    "The database; created by the first run. What it has is not measured again, nor what failed";
inline constexpr const char* kCacheDir =
    "Where compiled kernels are kept (default: $XDG_CACHE_HOME/hgemm-tune or ~/.cache/hgemm-tune)";
inline constexpr const char* kBudget =
    "What it may take: a time (60s, 5min, 1h) in which the likeliest configs of each shape are "
    "raced, "
    "as thoroughly as there is time for; a share of the space's configs (3%) or how many at each "
    "shape (100), raced at full effort; or all (default: 60s; where energy is measured 3%)";
inline constexpr const char* kStrategy =
    "Which these are: model (those that the cost model likes, and a tenth at random), random, or "
    "exhaustive (in the space's order; all, unless --budget says less). With a share or a number "
    "also staged, adaptive or local, which choose the rest of it in a second race, by what the "
    "first one found: `replay --help` says how, `replay` how well";
inline constexpr const char* kJobs =
    "Kernels compiled at a time (default: one per CPU and GiB of memory; within a time two fewer)";
inline constexpr const char* kRegime =
    "sustained (at full load for long), burst (short work after idle time) or both";
inline constexpr const char* kObjective =
    "What is best: the least time, or the least energy (joules per GEMM at full load, not in "
    "burst)";
inline constexpr const char* kEnergy =
    "Measure joules per GEMM of the finalists at full load, some seconds for each; with "
    "--objective "
    "energy always";
inline constexpr const char* kCompareA = "The database to compare with";
inline constexpr const char* kCompareB = "The database that is judged";
inline constexpr const char* kFailOnRegression = "Exit code 1 if any row is slower in B";
inline constexpr const char* kMergeInputs = "Databases to merge; they are only read";
inline constexpr const char* kMergeOutput = "The database that they are added to";
inline constexpr const char* kMixed = "Merge results of different environments too";
inline constexpr const char* kVerifyDb = "The database whose winners are checked";
inline constexpr const char* kDraws = "Draws of input data for each winner";
inline constexpr const char* kVerifySeed = "Seed of the draws (default: a fresh one)";
inline constexpr const char* kBestFormat = "table, md, json or csv";
inline constexpr const char* kAdviseWgmma =
    "Print the cycles of every wgmma, predicted and measured, instead of advice on shapes";
inline constexpr const char* kAdviseDevices =
    "Print what is known of the devices, with sources, instead of advice on shapes";
inline constexpr const char* kAdviseDevice = "A device of configs/devices.yaml, or all";
inline constexpr const char* kAdviseDb =
    "What was measured, beside the results that ship with the program (default: ./hgemm-tune.db, "
    "if it is there)";
inline constexpr const char* kPlanFormat =
    "table or json; with --explain also md and csv (totals only)";
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
