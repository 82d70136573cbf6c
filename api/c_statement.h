// One statement of a program as a block of C. Part of to_c.
#pragma once

#include <string>

#include "api/program.h"

namespace cuvmm {

/// The block, indented by two spaces. The statement must have passed check_program().
std::string c_statement(const Statement& statement, int line);

}  // namespace cuvmm
