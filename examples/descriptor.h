// SPDX-License-Identifier: Apache-2.0
// Passes a descriptor to another process by SCM_RIGHTS; ends the program where that fails.
#pragma once

#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

namespace bug {

inline void send_descriptor(int socket, int fd) {
  char byte = 'd';
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  if (sendmsg(socket, &message, 0) != 1) std::exit(1);
}

inline int receive_descriptor(int socket) {
  char byte = 0;
  iovec bytes{&byte, 1};
  int fd = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) std::exit(1);
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (!head) std::exit(1);
  std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

}  // namespace bug
