// --data: its words, and tensors from .npy and .safetensors files, also of files that lie.
#include "gemm/input_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "gemm/tensor_file.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} +
         little_endian(dictionary.size(), version == 1 ? 2 : 4) + dictionary + data;
}
std::string npy_of(const std::string& type, const std::string& shape, const std::string& data) {
  return npy(
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}  \n", type, shape),
      data);
}
std::string safetensors(const std::string& header, const std::string& data) {
  return little_endian(header.size(), 8) + header + data;
}
std::string entry(const char* name, const char* type, const char* shape, int begin, int end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, type,
                     shape, begin, end);
}

class InputDataTest : public ::testing::Test {
 protected:
  std::vector<float> values(const std::string& name, const std::string& content,
                            const std::string& tensor = "") const {
    return values_of(read_tensor(files_.write(name, content) + tensor));
  }
  std::string refusal(const std::string& argument) const {
    try {
      read_input_data(argument);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  std::string refusal(const std::string& name, const std::string& content,
                      const std::string& tensor = "") const {
    return refusal(files_.write(name, content) + tensor);
  }

  const ScratchFiles files_;
};

TEST_F(InputDataTest, HasAWordForEachKind) {
  for (const char* word : {"normal", "uniform", "integers", "zeros", "sparse"}) {
    EXPECT_EQ(to_string(read_input_data(word)), word);
  }
  EXPECT_TRUE(read_input_data("normal").is_normal());
  EXPECT_FALSE(read_input_data("zeros").is_normal());
  for (const char* bad : {"", "ones", "Normal", "data.bin", "normal,zeros"}) {
    EXPECT_THAT(refusal(bad), AllOf(HasSubstr("--data"), HasSubstr("normal, uniform, integers"),
                                    HasSubstr(".safetensors")))
        << bad;
  }
  EXPECT_THAT(refusal("nowhere.npy"), HasSubstr("nowhere.npy: cannot be read"));
}

TEST_F(InputDataTest, ReadsNpyOfEveryTypeAndVersion) {
  const std::vector<float> floats = {1, -2.5, 0, 3};
  EXPECT_EQ(values("a.npy", npy_of("<f4", "(2, 2)", bytes_of(floats))), floats);
  EXPECT_EQ(values("a.npy", npy_of("<f8", "(4,)", bytes_of<double>({1, -2.5, 0, 3}))), floats);
  EXPECT_EQ(
      values("a.npy", npy_of("<f2", "(4,)", bytes_of<std::uint16_t>({0x3c00, 0xc100, 0, 0x4200}))),
      floats);
  const std::string bf16 = bytes_of<std::uint16_t>({0x3f80, 0xc020, 0, 0x4040});
  for (const char* type : {"<V2", "|V2", "V2"}) {
    EXPECT_EQ(values("a.npy", npy_of(type, "(4,)", bf16)), floats) << type;
  }
  EXPECT_THAT(values("a.npy", npy_of("<f2", "(1,)", bytes_of<std::uint16_t>({1}))),
              ElementsAre(0x1p-24f));
  EXPECT_THAT(values("a.npy", npy_of("<f4", "()", bytes_of<float>({7}))), ElementsAre(7));
  const std::string header = R"({"shape":(4,),"fortran_order":False,"descr":"<f4"})";
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(values("a.npy", npy(header, bytes_of(floats), version)), floats) << version;
  }
}

TEST_F(InputDataTest, RefusesNpyThatIsNotWhatItSays) {
  const std::string two = bytes_of<float>({1, 2});
  const auto refused = [&](const std::string& content) { return refusal("a.npy", content); };
  EXPECT_THAT(refused(""), HasSubstr("no .npy file"));
  EXPECT_THAT(refused("PK\3\4 an archive"), HasSubstr("no .npy file"));
  EXPECT_THAT(refused(npy("{}", two, 4)), HasSubstr("version 4"));
  EXPECT_THAT(refused("\x93NUMPY\x01"), HasSubstr("no .npy file"));
  EXPECT_THAT(refused(std::string("\x93NUMPY\x01\0\x01", 9)), HasSubstr("cut off"));
  EXPECT_THAT(refused(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{}", 14)),
              HasSubstr("4294967295 bytes"));
  EXPECT_THAT(refused(npy_of("<f4", "(3,)", two)),
              AllOf(HasSubstr("cut off"), HasSubstr("needs 12 bytes, and 8 are there")));
  for (const char* type : {"<i4", ">f4", "<c8", "|u1", "<f16", "O"}) {
    EXPECT_THAT(refused(npy_of(type, "(2,)", two)),
                AllOf(HasSubstr(type), HasSubstr("little-endian f2, f4, f8")));
  }
  EXPECT_THAT(refused(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}", two)),
              HasSubstr("a structure"));
  EXPECT_THAT(refused(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", two)),
              HasSubstr("ascontiguousarray"));
  EXPECT_THAT(refused(npy_of("<f4", "(0, 4)", two)), HasSubstr("empty"));
  for (const char* shape : {"(268435457,)", "(65536, 65536)", "(4294967296, 4294967296)",
                            "(9223372036854775807, 2)", "(3, 6148914691236517206)"}) {
    EXPECT_THAT(refused(npy_of("<f4", shape, two)), HasSubstr("more than 268435456 elements"))
        << shape;
  }
  for (const char* bad :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} more",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", "{'descr"}) {
    EXPECT_THAT(refused(npy(bad, two)), HasSubstr("its header is not that of an .npy file")) << bad;
  }
}

TEST_F(InputDataTest, RefusesWhatIsNotFinite) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(3,)", bytes_of<float>({1, kNan, 1}))),
              HasSubstr("element 1 is NaN"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f4", "(3,)", bytes_of<float>({1, 1, -kInf}))),
              HasSubstr("element 2 is infinite"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f8", "(1,)", bytes_of<double>({1e300}))),
              HasSubstr("element 0 is infinite in fp32"));
  EXPECT_THAT(refusal("a.npy", npy_of("<f2", "(2,)", bytes_of<std::uint16_t>({0x7c00, 0x7e00}))),
              HasSubstr("element 0 is infinite"));
  EXPECT_THAT(refusal("a.npy", npy_of("<V2", "(2,)", bytes_of<std::uint16_t>({0, 0x7fc0}))),
              HasSubstr("element 1 is NaN"));
}

TEST_F(InputDataTest, ReadsATensorOfSafetensors) {
  const std::string data =
      bytes_of<float>({1, 2, 3}) + bytes_of<std::uint16_t>({0x3f80, 0x4000, 0x3c00});
  const std::string first = entry("first", "F32", "[3,1]", 0, 12);
  const std::string content = safetensors("{\"__metadata__\":{\"format\":\"pt\"}," + first + "," +
                                              entry("b.w", "BF16", "[2]", 12, 16) + "," +
                                              entry("h", "F16", "[]", 16, 18) + "}",
                                          data);
  EXPECT_THAT(values("m.safetensors", content, ":first"), ElementsAre(1, 2, 3));
  EXPECT_THAT(values("m.safetensors", content, ":b.w"), ElementsAre(1, 2));
  EXPECT_THAT(values("m.safetensors", content, ":h"), ElementsAre(1));
  EXPECT_THAT(refusal("m.safetensors", content),
              AllOf(HasSubstr("3 tensors"), HasSubstr("\"b.w\", \"first\", \"h\"")));
  EXPECT_THAT(refusal("m.safetensors", content, ":c"),
              AllOf(HasSubstr("no tensor \"c\""), HasSubstr("\"first\"")));
  const std::string one = safetensors("{\"__metadata__\":{}," + first + "}", data.substr(0, 12));
  EXPECT_THAT(values("m.safetensors", one), ElementsAre(1, 2, 3));
}

TEST_F(InputDataTest, ReadsEightBitTensorsOfSafetensors) {
  const auto read = [&](const char* type, const std::string& bytes) {
    const int size = static_cast<int>(bytes.size());
    const std::string header = "{" + entry("w", type, fmt::format("[{}]", size).c_str(), 0, size);
    return values("m.safetensors", safetensors(header + "}", bytes));
  };
  // 1, -1.125, the largest, the least normal, the largest and the least subnormal, and -0.
  EXPECT_THAT(read("F8_E4M3", std::string("\x38\xb9\x7e\x08\x07\x01\x80", 7)),
              ElementsAre(1, -1.125f, 448, 0x1p-6f, 7 * 0x1p-9f, 0x1p-9f, 0));
  EXPECT_THAT(read("F8_E5M2", std::string("\x3c\xbd\x7b\x04\x03\x01\x80", 7)),
              ElementsAre(1, -1.25f, 57344, 0x1p-14f, 3 * 0x1p-16f, 0x1p-16f, 0));
  const auto refused = [&](const char* type, const std::string& bytes) {
    return refusal("m.safetensors", safetensors("{" + entry("w", type, "[2]", 0, 2) + "}", bytes));
  };
  EXPECT_THAT(refused("F8_E4M3", "\x38\x7f"), HasSubstr("element 1 is NaN"));
  EXPECT_THAT(refused("F8_E4M3", "\xff\x38"), HasSubstr("element 0 is NaN"));
  EXPECT_THAT(refused("F8_E5M2", "\x38\x7c"), HasSubstr("element 1 is infinite"));
  EXPECT_THAT(refused("F8_E8M0", "\x38\x38"), HasSubstr("\"F8_E8M0\""));
  for (const char* type : {"|V1", "<V1", "<f1"}) {
    EXPECT_THAT(refusal("a.npy", npy_of(type, "(2,)", "\x38\x38")),
                AllOf(HasSubstr(type), HasSubstr("save 8-bit operands as .safetensors")));
  }
}

TEST_F(InputDataTest, RefusesSafetensorsThatLie) {
  const std::string two = bytes_of<float>({1, 2});
  const auto refused = [&](const std::string& header) {
    return refusal("m.safetensors", safetensors("{" + header + "}", two));
  };
  EXPECT_THAT(refusal("m.safetensors", "1234567"), HasSubstr("cut off"));
  EXPECT_THAT(refusal("m.safetensors", little_endian(100, 8) + "{}"), HasSubstr("100 bytes"));
  EXPECT_THAT(refusal("m.safetensors", little_endian(~0ull, 8) + "{}"),
              HasSubstr("18446744073709551615 bytes"));
  EXPECT_THAT(refusal("m.safetensors", safetensors("[1]", two)), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("m.safetensors", safetensors("{\"a\":", two)),
              HasSubstr("not a JSON object"));
  EXPECT_THAT(refused(""), HasSubstr("no tensors"));
  EXPECT_THAT(refused(entry("a", "I8", "[8]", 0, 8)), HasSubstr("\"I8\""));
  EXPECT_THAT(refused(entry("a", "F32", "[3]", 0, 12)), HasSubstr("not in the file"));
  EXPECT_THAT(refused(entry("a", "F32", "[2]", 8, 0)), HasSubstr("not in the file"));
  EXPECT_THAT(refused(entry("a", "F32", "[1]", 0, 8)), HasSubstr("needs 4 bytes"));
  EXPECT_THAT(refused(entry("a", "F32", "[4294967296,4294967296]", 0, 0)),
              HasSubstr("more than 268435456 elements"));
  EXPECT_THAT(refused(entry("a", "F32", "[0]", 0, 0)), HasSubstr("empty"));
  for (const char* bad :
       {R"("a":1)", R"("a":{})", R"("a":[])", R"("a":{"dtype":1,"shape":[2],"data_offsets":[0,8]})",
        R"("a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]})",
        R"("a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})",
        R"("a":{"dtype":"F32","shape":2,"data_offsets":[0,8]})",
        R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8]})",
        R"("a":{"dtype":"F32","shape":[2],"data_offsets":{"0":8}})"}) {
    EXPECT_THAT(refused(bad), HasSubstr("no dtype, shape and data_offsets")) << bad;
  }
}

TEST_F(InputDataTest, IsKnownByWhatTheTensorsHold) {
  const std::string content = npy_of("<f4", "(2,)", bytes_of<float>({1, 2}));
  const std::string a = files_.write("a.npy", content);
  const std::string b = files_.write("b.npy", npy_of("<f4", "(2,)", bytes_of<float>({2, 1})));
  const InputData data = read_input_data(a);
  EXPECT_EQ(data.files, a);
  EXPECT_EQ(read_input_data(files_.write("c.npy", content)), data) << "wherever it is";
  EXPECT_EQ(read_input_data(a + "," + a), data) << "one file is for both";
  EXPECT_FALSE(read_input_data(b) == data);
  EXPECT_FALSE(read_input_data(a + "," + b) == read_input_data(b + "," + a));
  const auto known = find_input_data(to_string(data));
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(*known, data);
  EXPECT_THAT(load_values(read_input_data(a + "," + b)),
              ElementsAre(ElementsAre(1, 2), ElementsAre(2, 1)));
  EXPECT_THAT(load_values(data), ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(refusal(a + "," + b + "," + a), HasSubstr("more than two files"));
  EXPECT_THAT(refusal(a + ",zeros"), HasSubstr("ends with .npy or .safetensors"));
}

TEST_F(InputDataTest, IsNotReadFromAFileThatChangedOrIsUnknown) {
  const auto why = [](const InputData& data) -> std::string {
    try {
      load_values(data);
    } catch (const InputError& error) {
      return error.what();
    }
    return "read";
  };
  const std::string a = files_.write("a.npy", npy_of("<f4", "(2,)", bytes_of<float>({1, 2})));
  const InputData data = read_input_data(a);
  EXPECT_EQ(why(data), "read");
  EXPECT_THAT(why(*find_input_data(to_string(data))), HasSubstr("name the file with --data"));
  files_.write("a.npy", npy_of("<f4", "(2,)", bytes_of<float>({1, 3})));
  EXPECT_THAT(why(data), HasSubstr("the file has changed"));
}

TEST(PowerOfTwoScale, BringsTheRootMeanSquareNear) {
  const std::vector<float> values = {3, -4, 5, 0.5f};
  const double rms = std::sqrt((9 + 16 + 25 + 0.25) / 4);
  for (const double wanted : {1.0, 1 / std::sqrt(4096.0), 1 / std::sqrt(11008.0)}) {
    const double scale = power_of_two_scale(values, wanted);
    int exponent = 0;
    EXPECT_EQ(std::frexp(scale, &exponent), 0.5) << "a power of two";
    EXPECT_LE(std::abs(std::log2(scale * rms / wanted)), 0.5);
  }
  EXPECT_EQ(power_of_two_scale(std::vector<float>(3, 0.0f), 1), 1);
}

}  // namespace
}  // namespace hgemm
