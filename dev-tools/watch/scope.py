# SPDX-License-Identifier: Apache-2.0
"""Tells which items of the headers concern memory. Each of these must have a decision in api/decisions/."""
import re

# Names of functions that concern memory.
FUNCTIONS = re.compile(r"""cu(
    Mem | Multicast | Ipc | LogicalEndpoint | Fabric | Pointer | Array | Mipmapped | FlushGPUDirectRDMA
  | Stream(Wait | Write)Value | StreamBatchMemOp | StreamAttachMem
  | \w*External | \w*MemPool | \w*GraphMem | \w*Peer | \w*P2P | \w*Clique | \w*Fabric | \w*TotalMem
  | Graph\w*(Mem | BatchMemOp)
    # Calls that end or take away the memory of a context, a stream, a module, or of the process.
  | CtxDestroy | CtxDetach | DevicePrimaryCtxRe(lease | set) | GreenCtxDestroy | StreamDestroy
  | ModuleUnload | LibraryUnload | Checkpoint
)""", re.X)
# A function with any name also concerns memory if it takes one of these types, or a structure that contains one.
TYPES = re.compile(r"""(
    CUdeviceptr | CUmem(GenericAllocationHandle | Location | oryPool | FabricHandle) | CUexternal(Memory | Semaphore)
  | CUipc(Mem | Event)Handle | CUlogicalEndpointId
)(_v\d+)?""", re.X)
# A structure concerns memory if it contains such a type and such a function takes it; so do these. An enum does if
# such a function or structure names it; so do these.
RECORDS = re.compile(r"""CU(mem | multicast | ipc | logicalEndpoint | fabric | clique | arraySparse | arrayMap | external
  | pointer | flushGPU | checkpoint | processState | graphMem | stream(Wait | Write | Batch | MemoryBarrier))
  | CUDA_(MEM | FABRIC | EXT | POINTER | ARRAY | BATCH_MEM)""", re.X)
MACROS = re.compile(r"CU(DA)?_(MEM|IPC|MULTICAST|LOGICAL|FABRIC|POINTER|ARRAY|EXT|STREAM_(WAIT|WRITE)|DEVICE_(CPU|INVALID))")
# Of enums about many things, only these values concern memory.
ALL = re.compile("")
ENUMERATORS = {
    "CUresult": ALL,
    "CUpointer_attribute": ALL,
    "CUdevice_P2PAttribute": ALL,
    "CUdevice_attribute": re.compile(
        r"""CU_DEVICE_ATTRIBUTE_\w*(MEMORY | MEM_ | MULTICAST | VIRTUAL | HANDLE_TYPE | IPC | FABRIC | DMA_BUF | RDMA | POOL
          | SPARSE | MAPPING | UNIFIED | MANAGED | PAGEABLE | HOST_(NUMA | ALLOC | REGISTER) | LOCALITY | LOGICAL_ENDPOINT
          | TIMELINE | ATOMIC_REDUCTION | NUMA_ID | COMPRESSION | STREAM_(WAIT | MEM))""", re.X),
    "CUgraphNodeType": re.compile(r"CU_GRAPH_NODE_TYPE_\w*(MEM|EXT|FABRIC)"),
}
# Values that only count the others, or only make the enum as wide as an int.
COUNTS = re.compile(r"\w+_MAX (.* \+ .*|0x[7F]FFFFFFF)", re.I)
WORD = re.compile(r"\b[A-Za-z_]\w+")


def stem(name):
    """CUmemLocation_v1 or CUmemLocation_st -> CUmemLocation."""
    return re.sub(r"_([vV]\d+|st)$", "", name)


class Scope:
    """The items of one version that concern memory."""

    def __init__(self, items):
        self.alias = {}  # CUmemLocation_v1 -> CUmemLocation
        self.fields, self.enums, self.taken = {}, {}, {}
        for item in items.values():
            target = item.text.removeprefix("struct ")
            if item.kind == "type" and target != item.name and stem(target) == stem(item.name):
                self.alias[target] = item.name
        for item in items.values():
            if item.kind == "field":
                self.fields.setdefault(self.plain(item.of), []).append(WORD.findall(item.text))
            elif item.kind == "enumerator":
                self.enums.setdefault(item.of, []).append(item.name)
            elif item.kind in ("function", "abi"):
                self.taken.setdefault(item.of, set()).update(WORD.findall(item.text))
        self.functions = {name for name, types in self.taken.items() if self.is_memory(name, types)}
        self.records = {name for name in (*self.fields, *self.enums) if RECORDS.match(name)}
        reached = self.reached(word for name in self.functions for word in self.taken[name])
        self.records |= {name for name in reached & set(self.fields) if self.holds([name])}
        named = [self.taken[name] for name in self.functions] + [words for name in self.records & set(self.fields)
                                                                 for words in self.fields[name]]
        self.records |= {word for words in named for word in words if word in self.enums and word not in ENUMERATORS}

    def plain(self, name):
        """The name that programs write: CUmemLocation for CUmemLocation_v1 and for CUmemLocation_st."""
        for _ in range(3):
            name = self.alias.get(name, name)
        return name

    def reached(self, types):
        """The structures with these names, and the structures in their fields."""
        found, left = set(), list(types)
        while left:
            name = self.plain(left.pop())
            if name in self.fields and name not in found:
                found.add(name)
                left += [word for words in self.fields[name] for word in words]
        return found

    def holds(self, types):
        words = {word for record in self.reached(types) for words in self.fields[record] for word in words}
        return any(TYPES.fullmatch(word) for word in words | set(types))

    def is_memory(self, name, types):
        return bool(FUNCTIONS.match(name)) or self.holds(types)

    def has(self, item):
        if item.kind in ("function", "abi", "symbol", "comment"):
            return item.of in self.functions or (item.kind == "comment" and self.plain(item.of) in self.records)
        if item.kind == "enumerator" and not COUNTS.fullmatch(f"{item.name} {item.text}"):
            return bool(ENUMERATORS[item.of].match(item.name)) if item.of in ENUMERATORS else item.of in self.records
        if item.kind == "field":
            return self.plain(item.of) in self.records
        return item.kind == "macro" and bool(MACROS.match(item.name))
