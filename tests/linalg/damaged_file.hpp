// SPDX-License-Identifier: MIT
#pragma once
// Matrix files that somebody spoilt.

#include "../support/dice.hpp"

#include <string>

namespace matrix_files {

/// `text`, a matrix file, with one to three changes: bits flipped, the end cut off, characters put
/// in, out or copied, lines dropped, repeated or exchanged, another number in the place of one, a
/// header that claims more than there is.
std::string damaged(support::Dice& dice, std::string text);

} // namespace matrix_files
