// Headers of .npy and .safetensors files: a tensor that is found lies within the file.
#include "gemm/tensor_file.h"

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hgemm;
  const std::string_view text = fuzz::text_of(data, size);
  const auto check = [](const StoredTensor& tensor, std::uint64_t file_bytes) {
    fuzz::require(tensor.elements > 0 && tensor.elements <= kMostElements,
                  "a tensor is not empty and not too large");
    fuzz::require(tensor.offset <= file_bytes && tensor.bytes() <= file_bytes - tensor.offset,
                  "a tensor lies in its file");
  };
  for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{64}, std::uint64_t{1} << 31}) {
    fuzz::accepts([&] { check(parse_npy(text, size + more, "a.npy"), size + more); });
    for (const std::string_view name : {"", "a"}) {
      fuzz::accepts([&] {
        check(parse_safetensors(text, 8 + size + more, name, "a.safetensors"), 8 + size + more);
      });
    }
  }
  return 0;
}
