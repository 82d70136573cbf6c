// SPDX-License-Identifier: Apache-2.0
// Changes to an executable graph, once the driver has accepted them.
#pragma once

#include "api/calls.h"
#include "shim/work/work_room.h"

namespace cuvmm::shim {

void change_graph(WorkRoom& room, const calls::GraphExecUpdate_v2& call);
void change_graph(WorkRoom& room, const calls::GraphExecKernelNodeSetParams& call);
void change_graph(WorkRoom& room, const calls::GraphExecMemcpyNodeSetParams& call);
void change_graph(WorkRoom& room, const calls::GraphExecMemsetNodeSetParams& call);
void change_graph(WorkRoom& room, const calls::GraphExecBatchMemOpNodeSetParams& call);
void change_graph(WorkRoom& room, const calls::GraphExecChildGraphNodeSetParams& call);
void change_graph(WorkRoom& room, const calls::GraphExecNodeSetParams& call);
void change_graph(WorkRoom& room, const calls::GraphNodeSetEnabled& call);

}  // namespace cuvmm::shim
