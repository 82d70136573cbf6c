// SPDX-License-Identifier: Apache-2.0
#include "api_client.c"
