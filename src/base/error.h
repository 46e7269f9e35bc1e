// The kinds of failure that a user can meet. Each carries one complete sentence: cause, place, next
// step. They are caught once, in main (or per trial in the tune driver).
#pragma once

#include <stdexcept>
#include <string>

namespace hgemm {

/// A correct request failed: exit code 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad usage or bad input (arguments, files, databases): exit code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// No GPU of this machine can run the kernels; what() says what is missing.
class NoDevice : public Error {
 public:
  using Error::Error;
};

/// A program that this one runs is not installed.
class ProgramMissing : public Error {
 public:
  using Error::Error;
};

}  // namespace hgemm
