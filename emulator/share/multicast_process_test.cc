// SPDX-License-Identifier: Apache-2.0
// Multicast across processes: a team of several processes, and its state after a process fails.
#include <pthread.h>
#include <sys/mman.h>

#include <chrono>
#include <fstream>
#include <vector>

#include "emulator/share/process_testing.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::emulator::testing {
namespace {

using Handle = CUmemGenericAllocationHandle;

/// Memory that all processes of a test share: a barrier, and bytes for messages.
struct Meeting {
  pthread_barrier_t barrier;
  int word[16];
  static Meeting* of(unsigned processes) {
    void* at =
        mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* meeting = static_cast<Meeting*>(at);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&meeting->barrier, &attributes, processes);
    return meeting;
  }
  void wait() { pthread_barrier_wait(&barrier); }
};

Handle object(unsigned devices) {
  CUmulticastObjectProp prop{};
  prop.numDevices = devices;
  prop.size = 2 * kGranule;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  Handle handle = 0;
  CHILD_EXPECT(driver()(calls::MulticastCreate{&handle, &prop}) == CUDA_SUCCESS);
  return handle;
}
CUresult add(Handle handle, int device) {
  return driver()(calls::MulticastAddDevice{handle, device});
}
CUresult bind(Handle handle, Handle memory) {
  return driver()(calls::MulticastBindMem{handle, 0, memory, 0, kGranule, 0});
}
CUresult fill(CUdeviceptr address, unsigned char value) {
  return driver()(calls::MemsetD8{address, value, 1});
}

/// This process's device, its memory, and the object mapped for it.
struct Rank {
  int device;
  Handle object;
  Handle memory = 0;
  CUdeviceptr own = 0, all = 0;
  void bind_and_map() {
    memory = create(kGranule, properties(device, 1));
    own = reserve(kGranule);
    all = reserve(2 * kGranule);
    CHILD_EXPECT(map(own, kGranule, memory) == CUDA_SUCCESS);
    CHILD_EXPECT(set_access(own, kGranule, access(device)) == CUDA_SUCCESS);
    CHILD_EXPECT(bind(object, memory) == CUDA_SUCCESS);
    CHILD_EXPECT(map(all, 2 * kGranule, object) == CUDA_SUCCESS);
    CHILD_EXPECT(set_access(all, 2 * kGranule, access(device)) == CUDA_SUCCESS);
  }
};

class MulticastProcesses : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(library().error, ""); }
};

// `alone`: each rank sees only its own device, whose number is then 0.
void share_a_buffer(bool alone) {
  constexpr int kRanks = 8;
  Meeting* meeting = Meeting::of(kRanks);
  int sockets[kRanks][2];
  for (auto& pair : sockets) ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    children.push_back(start(-1, -1, [&, rank](int) {
      if (alone) setenv("CUDA_VISIBLE_DEVICES", std::to_string(rank).c_str(), 1);
      CHILD_EXPECT(driver()(calls::Init{0}) == CUDA_SUCCESS);
      const int device = alone ? 0 : rank;
      use_device(device);
      Rank self{device, 0};
      if (rank == 0) {
        self.object = object(kRanks);
        const int fd = export_fd(self.object);
        for (int peer = 1; peer < kRanks; ++peer) send_fd(sockets[peer][0], fd);
        close(fd);
      } else {
        const int fd = receive_fd(sockets[rank][1]);
        self.object = import_fd(fd);
        close(fd);
      }
      // No barrier is needed: each bind waits for the ranks that have not added their device yet.
      CHILD_EXPECT(add(self.object, device) == CUDA_SUCCESS);
      CHILD_EXPECT(add(self.object, device) == CUDA_ERROR_INVALID_VALUE);
      self.bind_and_map();
      meeting->wait();
      // Each rank writes another byte, and all ranks read it.
      const auto value = static_cast<unsigned char>(rank + 1);
      CHILD_EXPECT(fill(self.all + static_cast<unsigned>(rank), value) == CUDA_SUCCESS);
      meeting->wait();
      for (int peer = 0; peer < kRanks; ++peer) {
        CHILD_EXPECT(byte_at(self.own + static_cast<unsigned>(peer)) == peer + 1);
      }
      meeting->wait();
      CHILD_EXPECT(driver()(calls::MulticastUnbind{self.object, device, 0, kGranule}) ==
                   CUDA_SUCCESS);
      end({self.all, self.object, 2 * kGranule});
      end({self.own, self.memory, kGranule});
    }));
  }
  for (const pid_t child : children) expect_success(child);
  for (auto& pair : sockets) {
    close(pair[0]);
    close(pair[1]);
  }
}

TEST_F(MulticastProcesses, EightRanksShareABuffer) { share_a_buffer(false); }
TEST_F(MulticastProcesses, RanksShareABufferThatSeeOnlyTheirOwnDevice) { share_a_buffer(true); }

TEST_F(MulticastProcesses, ABindWaitsForAProcessThatNeverComes) {
  setenv("CUVMM_MULTICAST_TIMEOUT_MS", "100", 1);
  run([](int) {
    initialise();
    const Handle handle = object(2);
    CHILD_EXPECT(add(handle, 0) == CUDA_SUCCESS);
    const Handle memory = create(kGranule, properties(0, 1));
    const auto start = std::chrono::steady_clock::now();
    CHILD_EXPECT(bind(handle, memory) == CUDA_ERROR_SYSTEM_NOT_READY);
    const auto waited = std::chrono::steady_clock::now() - start;
    CHILD_EXPECT(waited >= std::chrono::milliseconds(100));
    CHILD_EXPECT(waited < std::chrono::milliseconds(2500));
    const CUdeviceptr address = reserve(2 * kGranule);
    CHILD_EXPECT(map(address, 2 * kGranule, handle) == CUDA_ERROR_SYSTEM_NOT_READY);
  });
  unsetenv("CUVMM_MULTICAST_TIMEOUT_MS");
}

TEST_F(MulticastProcesses, ATimeoutThatIsNoNumberFailsTheStart) {
  setenv("CUVMM_MULTICAST_TIMEOUT_MS", "soon", 1);
  run([](int) { CHILD_EXPECT(driver()(calls::Init{0}) == CUDA_ERROR_NO_DEVICE); });
  unsetenv("CUVMM_MULTICAST_TIMEOUT_MS");
}

TEST_F(MulticastProcesses, AProcessThatDiesTakesItsMemoryOutOfTheTeam) {
  run_pair(
      [](int socket) {
        initialise();
        Rank self{0, object(2)};
        CHILD_EXPECT(add(self.object, 0) == CUDA_SUCCESS);
        send_fd(socket, export_fd(self.object));
        self.bind_and_map();
        hear(socket);
        CHILD_EXPECT(fill(self.all, 3) == CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(self.own) == 3);
        say(socket);
        hear_exit(socket);
        // The peer is a zombie or has ended: its memory no longer exists.
        for (int tries = 0; tries < 500 && fill(self.all, 4) == CUDA_SUCCESS; ++tries) usleep(1000);
        CHILD_EXPECT(fill(self.all, 4) == CUDA_ERROR_INVALID_VALUE);
        CHILD_EXPECT(byte_at(self.own) == 3);
        // The ended process's device is still a member.
        CHILD_EXPECT(add(self.object, 1) == CUDA_ERROR_INVALID_VALUE);
        // A living process may bind other memory for that device.
        const Handle instead = create(kGranule, properties(1, 1));
        CHILD_EXPECT(bind(self.object, instead) == CUDA_SUCCESS);
        CHILD_EXPECT(fill(self.all, 5) == CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(self.own) == 5);
      },
      [](int socket) {
        initialise();
        Rank self{1, import_fd(receive_fd(socket))};
        use_device(1);
        CHILD_EXPECT(add(self.object, 0) == CUDA_ERROR_INVALID_VALUE);
        CHILD_EXPECT(add(self.object, 1) == CUDA_SUCCESS);
        self.bind_and_map();
        say(socket);
        hear(socket);
        CHILD_EXPECT(byte_at(self.own) == 3);
      });
}

TEST_F(MulticastProcesses, AnImportOutlivesTheMaker) {
  run_pair(
      [](int socket) {
        initialise();
        const Handle handle = object(1);
        CHILD_EXPECT(add(handle, 0) == CUDA_SUCCESS);
        send_fd(socket, export_fd(handle));
      },
      [](int socket) {
        initialise();
        const int fd = receive_fd(socket);
        hear_exit(socket);
        Rank self{0, import_fd(fd)};
        self.bind_and_map();
        CHILD_EXPECT(fill(self.all, 6) == CUDA_SUCCESS);
        CHILD_EXPECT(byte_at(self.own) == 6);
      });
}

// The recommended granularity is only advice; this profile enforces it, to show that the emulator
// reads it.
TEST_F(MulticastProcesses, TheProfileSetsTheRecommendedGranularity) {
  Profile profile = load_profile("documented").profile;
  profile.name = "coarse";
  profile.multicast_granularity_recommended = 4 * kGranule;
  for (const Rule rule : {Rule::kMcCreateSizeRecommended, Rule::kMcBindRecommended}) {
    profile.verdicts[static_cast<std::size_t>(rule)] = {Verdict::Kind::kCode,
                                                        CUDA_ERROR_NOT_SUPPORTED};
  }
  const std::string path = ::testing::TempDir() + "/coarse.toml";
  std::ofstream(path) << format_profile(profile);
  setenv("CUVMM_PROFILE", path.c_str(), 1);
  run([](int) {
    initialise();
    CUmulticastObjectProp prop{};
    prop.numDevices = 1;
    prop.size = 2 * kGranule;
    std::size_t granularity = 0;
    CHILD_EXPECT(driver()(calls::MulticastGetGranularity{
                     &granularity, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED}) == CUDA_SUCCESS);
    CHILD_EXPECT(granularity == 4 * kGranule);
    CHILD_EXPECT(driver()(calls::MulticastGetGranularity{
                     &granularity, &prop, CU_MULTICAST_GRANULARITY_MINIMUM}) == CUDA_SUCCESS);
    CHILD_EXPECT(granularity == kGranule);
    Handle handle = 0;
    CHILD_EXPECT(driver()(calls::MulticastCreate{&handle, &prop}) == CUDA_ERROR_NOT_SUPPORTED);
    prop.size = 4 * kGranule;
    CHILD_EXPECT(driver()(calls::MulticastCreate{&handle, &prop}) == CUDA_SUCCESS);
    CHILD_EXPECT(add(handle, 0) == CUDA_SUCCESS);
    CHILD_EXPECT(bind(handle, create(kGranule, properties(0))) == CUDA_ERROR_NOT_SUPPORTED);
    const Handle memory = create(4 * kGranule, properties(0));
    CHILD_EXPECT(driver()(calls::MulticastBindMem{handle, 0, memory, 0, 4 * kGranule, 0}) ==
                 CUDA_SUCCESS);
  });
  unsetenv("CUVMM_PROFILE");
}

TEST_F(MulticastProcesses, OneDeviceHasNoFabric) {
  setenv("CUVMM_DEVICES", "1", 1);
  run([](int) {
    initialise();
    CUmulticastObjectProp prop{};
    prop.numDevices = 1;
    prop.size = kGranule;
    Handle handle = 77;
    CHILD_EXPECT(driver()(calls::MulticastCreate{&handle, &prop}) == CUDA_ERROR_NOT_SUPPORTED);
    CHILD_EXPECT(handle == 77);
  });
  unsetenv("CUVMM_DEVICES");
}

}  // namespace
}  // namespace cuvmm::emulator::testing
