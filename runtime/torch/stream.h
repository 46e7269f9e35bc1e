// What the driver says of a stream of torch.
#pragma once

#include <cstdint>
#include <optional>

namespace hgemm_torch {

/// Whether work on the stream is being captured into a graph.
bool is_capturing(void* stream);

/// A number that no other stream of the device has or had, while a handle may be used again once
/// its stream was destroyed. None if the driver cannot tell.
std::optional<std::uint64_t> id_of(void* stream);

/// Whether the handle stands for one stream as long as that lives: two have a meaning of their own,
/// of which one is another stream in each thread.
bool is_handle_of_one(void* stream);

}  // namespace hgemm_torch
