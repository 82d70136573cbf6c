// SPDX-License-Identifier: Apache-2.0
/* A libcuda to link against where no driver and no toolkit stub is installed: every symbol that
   api/entry_points.def names, and what our programs call besides, without a body. It is never
   loaded: programs find libcuda.so.1 by its SONAME at run time, and this one lies in no search
   path. */
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) \
  __attribute__((visibility("default"))) void symbol(void) {}
#include "api/entry_points.def"

#define FUNCTION(symbol) \
  __attribute__((visibility("default"))) void symbol(void) {}
FUNCTION(cuArrayGetDescriptor_v2)
FUNCTION(cuCtxCreate_v2)
FUNCTION(cuCtxCreate_v4)
FUNCTION(cuCtxGetId)
FUNCTION(cuDeviceGetUuid)
FUNCTION(cuDeviceGetUuid_v2)
FUNCTION(cuFuncGetAttribute)
FUNCTION(cuFuncGetName)
FUNCTION(cuFuncGetParamInfo)
FUNCTION(cuGetProcAddress_v2)
FUNCTION(cuGraphAddChildGraphNode)
FUNCTION(cuGraphAddEmptyNode)
FUNCTION(cuGraphAddEventRecordNode)
FUNCTION(cuGraphAddEventWaitNode)
FUNCTION(cuGraphAddHostNode)
FUNCTION(cuGraphAddKernelNode_v2)
FUNCTION(cuGraphAddMemAllocNode)
FUNCTION(cuGraphAddMemFreeNode)
FUNCTION(cuGraphAddMemcpyNode)
FUNCTION(cuGraphAddMemsetNode)
FUNCTION(cuGraphAddNode_v2)
FUNCTION(cuGraphClone)
FUNCTION(cuGraphCreate)
FUNCTION(cuGraphDestroy)
FUNCTION(cuGraphDestroyNode)
FUNCTION(cuGraphGetNodes)
FUNCTION(cuGraphNodeGetType)
FUNCTION(cuGraphRetainUserObject)
FUNCTION(cuKernelGetFunction)
FUNCTION(cuLibraryGetKernel)
FUNCTION(cuMemHostGetDevicePointer_v2)
FUNCTION(cuMemHostGetFlags)
FUNCTION(cuModuleGetFunction)
FUNCTION(cuModuleGetGlobal_v2)
FUNCTION(cuPointerGetAttributes)
FUNCTION(cuStreamGetCaptureInfo_v2)
FUNCTION(cuStreamGetCaptureInfo_v3)
FUNCTION(cuStreamIsCapturing)
FUNCTION(cuSurfObjectCreate)
FUNCTION(cuSurfObjectDestroy)
FUNCTION(cuTexObjectCreate)
FUNCTION(cuTexObjectDestroy)
FUNCTION(cuUserObjectCreate)
FUNCTION(cuUserObjectRelease)
FUNCTION(cuUserObjectRetain)
