// The checksums of races and studies; schema.sql says what they are for. Internal to store.
//
// A checksum is a sum of hashes of rows. So adding or replacing a row changes the sum by a
// difference that follows from this row alone, and the order of rows does not matter.
#pragma once

#include <cstdint>
#include <string>

#include "store/store.h"

namespace hgemm::sql {

std::uint64_t hash_of_race(const RecordedRace& recorded);  ///< without its trials
std::uint64_t hash_of_trial(const Trial& trial);           ///< without its samples and its energy
std::uint64_t hash_of_sample(const std::string& label, const Sample& sample);
std::uint64_t hash_of_energy(const std::string& label, const Energy& energy);
std::uint64_t hash_of_calls(const std::string& label, const CallTime& time);

std::uint64_t checksum(const RecordedRace& recorded);
std::uint64_t checksum(const RecordedStudy& recorded);

}  // namespace hgemm::sql
