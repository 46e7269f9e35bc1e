#include "main/run_program.h"

int main(int argc, char** argv) {
  return hgemm::cli::run_program(argc, argv, hgemm::cli::real_backend());
}
