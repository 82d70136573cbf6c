// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Calls functions of the runtime; 0 if all answers are right, else says which is not.
int make_calls(void);
