// SPDX-License-Identifier: Apache-2.0
// The meaning of an entry point's parameter. Printers, the program text and the fuzzer depend on
// it.
#pragma once

namespace cuvmm {

enum class ParameterKind {
  kAddress,           ///< device address, read
  kVoidAddress,       ///< device address that the C signature spells void*
  kSize,              ///< bytes
  kOffset,            ///< bytes from the start of an object
  kAlignment,         ///< bytes, 0 or a power of two by the documentation
  kPitch,             ///< bytes between rows
  kCount,             ///< number of elements
  kFill,              ///< value stored by a fill
  kFlags,             ///< bit set
  kValue,             ///< plain number or enumerator
  kHandle,            ///< CUmemGenericAllocationHandle
  kHandleType,        ///< CUmemAllocationHandleType
  kRangeHandleType,   ///< CUmemRangeHandleType
  kOption,            ///< CUmemAllocationGranularity_flags
  kDevice,            ///< device ordinal
  kAttribute,         ///< CUdevice_attribute
  kPointerAttribute,  ///< CUpointer_attribute
  kPoolAttribute,     ///< CUmemPool_attribute
  kAllocationType,    ///< CUmemAllocationType
  kContext,
  kStream,
  kArray,
  kHostIn,       ///< host memory that the call reads
  kHostOut,      ///< host memory that the call writes
  kInProp,       ///< const CUmemAllocationProp*
  kInAccess,     ///< const CUmemAccessDesc*, `count` of them
  kInLocation,   ///< CUmemLocation*, read, or one by value
  kInPoolValue,  ///< void* to the value of a pool's attribute, read; the attribute gives its length
  kInShareable,  ///< the OS handle of an import: an fd by value, or a pointer to a fabric handle
  kInRecord,     ///< pointer to one structure of record_fields.h
  kInRecords,    ///< array of such structures, as many as the call's count says
  kInObjects,    ///< array of objects, as many as the call's count says
  kInAddresses,  ///< array of device addresses, as many as the call's count says
  kInSizes,      ///< array of sizes, as many as the call's count says
  /// Array: the first element to which each of the call's attributes or locations applies.
  kInIndices,
  kInLocations,  ///< array of CUmemLocation, as long as the array of kInIndices
  kBlob,         ///< 64 opaque bytes by value: a legacy IPC handle
  kInBlob,       ///< pointer to 64 opaque bytes: a pool pointer's export data
  kObject,       ///< pointer-sized object of the driver: event, pool, external memory, semaphore
  kOutAddress,
  kOutHandle,
  kOutSize,
  kOutFlags,
  kOutInt,
  kOutContext,
  kOutObject,
  kOutBlob,
  kOutProp,
  kOutPoolValue,  ///< void* to the value of a pool's attribute, written
  kOutShareable,  ///< where an export writes its OS handle
  kOpaque,
};

}  // namespace cuvmm
