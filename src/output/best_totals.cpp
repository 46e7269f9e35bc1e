#include "output/best_totals.h"

namespace hgemm {

double weighted_time_us(const std::vector<const BestRow*>& rows) {
  double sum_us = 0;
  for (const BestRow* row : rows) sum_us += row->problem.weight * *row->time_us;
  return sum_us;
}

double weighted_baseline_us(const std::vector<const BestRow*>& rows,
                            std::optional<Ratio> BestRow::*ratio) {
  double sum_us = 0;
  for (const BestRow* row : rows) {
    sum_us += row->problem.weight * *row->time_us * (row->*ratio)->value;
  }
  return sum_us;
}

}  // namespace hgemm
