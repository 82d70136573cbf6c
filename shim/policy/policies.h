// SPDX-License-Identifier: Apache-2.0
// The policies of all areas.
#pragma once

#include "shim/policy/array_policy.h"
#include "shim/policy/data_policy.h"
#include "shim/policy/endpoint_policy.h"
#include "shim/policy/external_policy.h"
#include "shim/policy/ipc_policy.h"
#include "shim/policy/memory_policy.h"
#include "shim/policy/order_policy.h"
#include "shim/policy/pool_policy.h"
#include "shim/policy/share_policy.h"
#include "shim/policy/vmm_policy.h"
