// Writes the package of the made-up recording of the tests (fixture.h) to the folder that is named:
// for the test of a package on a GPU, which has to be built before.
#include <cstdio>
#include <exception>
#include <string_view>

#include "tests/output/export/fixture.h"

int main(int argc, char** argv) {
  using namespace hgemm;
  const bool libraries = argc == 3 && std::string_view(argv[2]) == "--with-cublaslt";
  if (argc != 2 && !libraries) {
    std::fprintf(stderr, "usage: write_package FOLDER [--with-cublaslt]\n");
    return 2;
  }
  try {
    const ExportPlan plan = libraries ? test::planned_with_libraries()
                                      : plan_export(test::recordings_of_package(),
                                                    {.allowed = {.pdl = PdlKind::kWeights}});
    write_export(argv[1], export_files(plan, test::valid_for(plan), ExportFormat::kCpp));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_package: %s\n", error.what());
    return 1;
  }
}
