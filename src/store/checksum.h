// The checksums of races and studies (schema.sql says what for). Internal to store.
//
// A sum of hashes of rows: one that is added, or takes the place of another, changes the sum by
// what is known of it alone, and the order of rows has no meaning.
#pragma once

#include <cstdint>
#include <string>

#include "store/store.h"

namespace hgemm::sql {

std::uint64_t hash_of_race(const RecordedRace& recorded);  ///< without its trials
std::uint64_t hash_of_trial(const Trial& trial);           ///< without its samples and its energy
std::uint64_t hash_of_sample(const std::string& label, const Sample& sample);
std::uint64_t hash_of_energy(const std::string& label, const Energy& energy);

std::uint64_t checksum(const RecordedRace& recorded);
std::uint64_t checksum(const RecordedStudy& recorded);

}  // namespace hgemm::sql
