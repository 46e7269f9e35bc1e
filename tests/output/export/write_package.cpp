// Writes the package of the made-up recording of the tests (fixture.h) to the folder that is named:
// for the test of a package on a GPU, which has to be built before.
#include <cstdio>
#include <exception>
#include <string_view>

#include "gemm/codec.h"
#include "tests/output/export/fixture.h"

int main(int argc, char** argv) {
  using namespace hgemm;
  const bool libraries = argc == 3 && std::string_view(argv[2]) == "--with-cublaslt";
  if (argc != 2 && !libraries) {
    std::fprintf(stderr, "usage: write_package FOLDER [--with-cublaslt]\n");
    return 2;
  }
  try {
    // What only a GPU shows of 8-bit operands: the scales that a kernel finds.
    std::vector<RecordedRace> races = test::recordings_of_every_kind();
    const TiledConfig config{.bm = 128, .bn = 128, .bk = 128, .mma_depth = 0, .promote = 128};
    races.push_back(test::recorded(
        parse_problem("256x512x640.e4m3.de4m3.scaling-blocks.dscaling-blocks.bias-silu"),
        {test::timed(std::string(kCublasLabel), 15), test::timed(label(config), 12)}));
    const ExportPlan plan =
        libraries ? test::planned_with_libraries() : plan_export(races, {.pdl = PdlKind::kWeights});
    write_export(argv[1], export_files(plan, test::valid_for(plan), ExportFormat::kCpp));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_package: %s\n", error.what());
    return 1;
  }
}
