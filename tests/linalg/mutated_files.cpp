// SPDX-License-Identifier: MIT
// Damaged matrix files: each must be read or refused in one line, in bounded time and memory.
//
// Usage: mutated_files [--files N] [--seed S] [--first K]
//   --files  how many (3000)
//   --seed   others are tried with another (1)
//   --first  begins with file K: to run one again (0)

#include <hetsched/linalg/matrix_io.hpp>

#include "../support/dice.hpp"
#include "../support/heap_meter.hpp"
#include "../support/watchdog.hpp"
#include "damaged_file.hpp"
#include "valid_files.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using hetsched::Error;
using hetsched::linalg::MatrixFileOf;
using support::Dice;
using Complex = std::complex<double>;

// What a reader may take: the limits of tests/fuzz/fuzz.hpp. 65536 rows and columns are free.
constexpr std::size_t bytes_per_byte = 150;
constexpr std::size_t bytes_more = std::size_t{4} << 20U;
constexpr double s_per_byte = 20e-6;
constexpr double s_more = 0.2;

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool holds, std::string const& what) {
  if (!holds) {
    throw Broken(what);
  }
}

/// A file in memory.
class File {
public:
  File() : file_(memfd_create("matrix", MFD_CLOEXEC)) { require(file_ >= 0, "no file"); }

  File(File const&) = delete;
  File& operator=(File const&) = delete;

  ~File() { close(file_); }

  void write(std::string const& text) const {
    require(ftruncate(file_, 0) == 0 &&
                pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
            "the file cannot be written");
  }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

private:
  int file_;
};

// What must hold.

struct Worst {
  double bytes = 0; // on the heap at once
  double s = 0;
};

double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void check_error(Error const& error, std::string const& path) {
  std::string_view const what = error.what();
  require(error.code() == hetsched::ErrorCode::bad_input, "another code");
  require(error.culprit() == path && what.find(path) != std::string_view::npos,
          "the file is not named: " + std::string(what));
  require(what.find(": line ") != std::string_view::npos, "no place: " + std::string(what));
  bool const plain = std::all_of(what.begin(), what.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
  });
  require(plain && what.size() < 1000, "not one short line: " + std::string(what));
}

template <class T>
void check_matrix(MatrixFileOf<T> const& file) {
  auto const& matrix = file.matrix;
  require(matrix.isCompressed() && matrix.rows() > 0 && matrix.cols() > 0, "no matrix");
  auto const* const begins = matrix.outerIndexPtr();
  require(begins[0] == 0 && begins[matrix.cols()] == matrix.nonZeros(), "columns have no bounds");
  auto const is_nan = [](T value) { return std::isnan(std::abs(value)); };
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    require(begins[column] <= begins[column + 1], "a column ends before it begins");
    Eigen::Index last = -1;
    for (typename Eigen::SparseMatrix<T>::InnerIterator it(matrix, column); it; ++it) {
      require(it.row() > last && it.row() < matrix.rows(), "a row is out of range or order");
      last = it.row();
      if (file.symmetric || file.hermitian) {
        T const other = matrix.coeff(it.col(), it.row());
        bool const same =
            file.symmetric ? it.value() == other : it.value() == Eigen::numext::conj(other);
        require(same || (is_nan(it.value()) && is_nan(other)), "not as symmetric as it says");
      }
    }
  }
}

/// The matrix, or why it was refused. Checks either, and what it took.
template <class T>
std::pair<std::optional<MatrixFileOf<T>>, std::string>
read(File const& file, std::size_t size, Worst& worst) {
  std::pair<std::optional<MatrixFileOf<T>>, std::string> result;
  double const begin = thread_s();
  std::size_t bytes = 0;
  std::optional<Error> refused;
  {
    support::HeapMeter const meter;
    try {
      result.first = hetsched::linalg::read_matrix<T>(file.path());
    } catch (Error const& error) {
      refused = error;
    }
    bytes = meter.most();
  }
  double const s = thread_s() - begin;
  worst.bytes = std::max(worst.bytes, static_cast<double>(bytes));
  worst.s = std::max(worst.s, s);
  require(bytes <= bytes_more + bytes_per_byte * size, std::to_string(bytes) + " bytes at once");
  require(s <= s_more + s_per_byte * static_cast<double>(size), std::to_string(s) + " s");
  if (refused) {
    check_error(*refused, file.path());
    result.second = refused->what();
  } else {
    check_matrix(*result.first);
  }
  return result;
}

/// Whether it was read, as complex values. Reads it with real ones, too.
bool try_file(File const& file, std::string const& text, Worst& worst) {
  file.write(text);
  auto const [complex, complex_error] = read<Complex>(file, text.size(), worst);
  auto const [real, real_error] = read<double>(file, text.size(), worst);
  if (real) {
    require(complex && complex->format == real->format &&
                complex->matrix.nonZeros() == real->matrix.nonZeros(),
            "real and complex values differ");
  } else {
    require(complex_error == real_error ||
                real_error.find("the matrix is complex") != std::string::npos,
            "only real values are refused: " + real_error);
  }
  return complex.has_value();
}

struct Counts {
  long read = 0;
  long refused = 0;
};

int run(long files, unsigned long seed, long first) {
  auto const valid = matrix_files::valid_files(static_cast<unsigned>(seed));
  File const file;
  Worst worst;
  for (auto const& one : valid) {
    file.write(one.text);
    auto const [matrix, error] = read<Complex>(file, one.text.size(), worst);
    require(matrix && matrix->format == one.kind, one.kind + ": " + error + "\n" + one.text);
    require(read<double>(file, one.text.size(), worst).first.has_value() != one.complex, one.kind);
  }
  support::Watchdog watchdog("mutated_files");
  std::map<std::string, Counts> counts;
  Counts all;
  for (long k = first; k < first + files; ++k) {
    auto const again =
        "--seed " + std::to_string(seed) + " --first " + std::to_string(k) + " --files 1";
    Dice dice(seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(k));
    auto const& one = valid[static_cast<std::size_t>(dice.below(static_cast<int>(valid.size())))];
    auto const text = matrix_files::damaged(dice, one.text);
    watchdog.begin(again, [&text] { return text; });
    try {
      bool const was_read = try_file(file, text, worst);
      ++(was_read ? counts[one.kind].read : counts[one.kind].refused);
      ++(was_read ? all.read : all.refused);
    } catch (std::exception const& error) {
      std::fprintf(
          stderr, "mutated_files: %s\n%s\n%s\n", error.what(), again.c_str(), text.c_str());
      return 1;
    }
  }
  // Damage must reach past the headers, and must not be harmless.
  for (auto const& [kind, its] : counts) {
    long const tried = its.read + its.refused;
    require(tried < 200 || (its.read * 200 > tried && its.refused * 2 > tried),
            kind + ": " + std::to_string(its.read) + " of " + std::to_string(tried) + " were read");
  }
  std::printf("%ld damaged files of %zu kinds: %ld read, %ld refused; at most %.0f bytes at once "
              "and %.1f ms\n",
              files,
              counts.size(),
              all.read,
              all.refused,
              worst.bytes,
              1e3 * worst.s);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::map<std::string, long> options{{"--files", 3000}, {"--seed", 1}, {"--first", 0}};
  for (int k = 1; k < argc; k += 2) {
    auto const option = options.find(argv[k]);
    if (option == options.end() || k + 1 == argc) {
      std::fprintf(stderr, "mutated_files: what is '%s'?\n", argv[k]);
      return 2;
    }
    option->second = std::strtol(argv[k + 1], nullptr, 10);
  }
  try {
    return run(
        options["--files"], static_cast<unsigned long>(options["--seed"]), options["--first"]);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "mutated_files: %s\n", error.what());
    return 1;
  }
}
