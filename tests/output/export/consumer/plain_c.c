/* The interface as C sees it. */
#include <hgemm_tuned.h>

int selects_in_c(void) {
  hgemm_tuned_problem problem = hgemm_tuned_shape(0);
  hgemm_tuned_problem batch = {.m = 256, .n = 512, .k = 640, .batch = 2};
  hgemm_tuned_problem scaled = {.m = 256, .n = 512, .k = 640, .scaled = 1};
  hgemm_tuned_problem scaled_twice = {.m = 256, .n = 512, .k = 640, .scaled = 2};
  hgemm_tuned_problem eight_bits = {.m = 256,
                                    .n = 512,
                                    .k = 640,
                                    .dtype = HGEMM_TUNED_E4M3,
                                    .fast_sums = 1,
                                    .scaling = HGEMM_TUNED_SCALING_ROWS};
  hgemm_tuned_problem scaled_bf16 = {
      .m = 256, .n = 512, .k = 640, .scaling = HGEMM_TUNED_SCALING_TENSOR};
  hgemm_tuned_problem scaled_blocks = {.m = 256,
                                       .n = 512,
                                       .k = 640,
                                       .dtype = HGEMM_TUNED_E4M3,
                                       .scaling = HGEMM_TUNED_SCALING_ROW_BLOCKS};
  hgemm_tuned_problem no_scaling = scaled_blocks;
  no_scaling.scaling = HGEMM_TUNED_SCALING_PACKED_BLOCKS + 1;
  hgemm_tuned_problem found_scales = scaled_blocks;
  found_scales.output = HGEMM_TUNED_OUTPUT_E4M3;
  found_scales.output_scaling = HGEMM_TUNED_OUTPUT_SCALES_BLOCKS;
  hgemm_tuned_problem found_bf16 = found_scales;
  found_bf16.output = HGEMM_TUNED_OUTPUT_BF16;
  batch.stride_b = HGEMM_TUNED_SHARED;
  return problem.output == HGEMM_TUNED_OUTPUT_SAME &&
         hgemm_tuned_select(&problem).source == HGEMM_TUNED_EXACT &&
         hgemm_tuned_select(&batch).status != HGEMM_TUNED_BAD_PROBLEM &&
         hgemm_tuned_select(&scaled).status != HGEMM_TUNED_BAD_PROBLEM &&
         hgemm_tuned_select(&scaled_twice).status == HGEMM_TUNED_BAD_PROBLEM &&
         hgemm_tuned_select(&eight_bits).status != HGEMM_TUNED_BAD_DTYPE &&
         hgemm_tuned_select(&scaled_bf16).status == HGEMM_TUNED_BAD_DTYPE &&
         hgemm_tuned_select(&scaled_blocks).status != HGEMM_TUNED_BAD_PROBLEM &&
         hgemm_tuned_select(&found_scales).status != HGEMM_TUNED_BAD_DTYPE &&
         hgemm_tuned_select(&found_bf16).status == HGEMM_TUNED_BAD_DTYPE &&
         hgemm_tuned_select(&no_scaling).status == HGEMM_TUNED_BAD_PROBLEM &&
         hgemm_tuned_select(NULL).status == HGEMM_TUNED_NULL_POINTER;
}
