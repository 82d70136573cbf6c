// SPDX-License-Identifier: Apache-2.0
#include "api/posix/pass_descriptor.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cuvmm {

ssize_t send_with_descriptor(int socket, std::span<iovec> parts, int fd) {
  msghdr envelope{};
  envelope.msg_iov = parts.data();
  envelope.msg_iovlen = parts.size();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    envelope.msg_control = control;
    envelope.msg_controllen = sizeof control;
    cmsghdr* item = CMSG_FIRSTHDR(&envelope);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &fd, sizeof fd);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &envelope, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_with_descriptor(int socket, std::span<iovec> parts, int& fd) {
  fd = -1;
  msghdr envelope{};
  envelope.msg_iov = parts.data();
  envelope.msg_iovlen = parts.size();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  envelope.msg_control = control;
  envelope.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket, &envelope, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return got;
  for (cmsghdr* item = CMSG_FIRSTHDR(&envelope); item; item = CMSG_NXTHDR(&envelope, item)) {
    if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
      std::memcpy(&fd, CMSG_DATA(item), sizeof fd);
    }
  }
  return got;
}

}  // namespace cuvmm
