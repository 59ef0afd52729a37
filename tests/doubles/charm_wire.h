// SPDX-License-Identifier: Apache-2.0
// What the doubles of Charm++ processes have in common: integers on the wire, time, sockets.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kHeader = 16, kEntry = 24, kInitnode = 40 };

static inline uint32_t get(const unsigned char* p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void put(unsigned char* p, uint32_t value) {
  for (int i = 0; i < 4; ++i) p[i] = (unsigned char)(value >> (24 - 8 * i));
}

static inline int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void rest(double seconds) {
  struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&t, &t) != 0) continue;
}

/// The address of a process, from the entries of a table.
static inline struct sockaddr_in address_in(const unsigned char* table, uint32_t process) {
  const unsigned char* entry = table + (size_t)kEntry * process;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)get(entry + 12))};
  address.sin_addr.s_addr = htonl(get(entry + 20));
  return address;
}

/// A connection to the launcher; exits if there is none after some tries.
static inline int connect_control(const char* name, int port) {
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  if (getaddrinfo(name, service, &hints, &found) != 0) {
    fprintf(stderr, "double: cannot resolve %s\n", name);
    exit(2);
  }
  int control = socket(AF_INET, SOCK_STREAM, 0);
  for (int attempt = 0; connect(control, found->ai_addr, found->ai_addrlen) != 0; ++attempt) {
    if (attempt == 100) {
      perror("double: connect");
      exit(2);
    }
    close(control);
    rest(0.05);
    control = socket(AF_INET, SOCK_STREAM, 0);
  }
  freeaddrinfo(found);
  const int on = 1;
  setsockopt(control, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return control;
}

/// A datagram socket and, in `port`, where it is bound.
static inline int open_data(uint32_t* port) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  const int bytes = 200000;
  const int data = socket(AF_INET, SOCK_DGRAM, 0);
  setsockopt(data, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  if (bind(data, (struct sockaddr*)&address, sizeof address) != 0 ||
      getsockname(data, (struct sockaddr*)&address, &size) != 0) {
    perror("double: data socket");
    exit(2);
  }
  *port = ntohs(address.sin_port);
  return data;
}

/// Sends a message of at most 2 KB.
static inline void send_control(int control, const char* type, const void* payload, size_t size) {
  unsigned char bytes[2048] = {0};
  if (kHeader + size > sizeof bytes) _exit(2);
  put(bytes, (uint32_t)size);
  memcpy(bytes + 4, type, strlen(type));
  if (size > 0) memcpy(bytes + kHeader, payload, size);
  for (size_t at = 0, end = kHeader + size; at < end;) {
    const ssize_t sent = send(control, bytes + at, end - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return;  // the launcher is gone: reading will tell
    if (sent > 0) at += (size_t)sent;
  }
}

typedef void control_taker(const char* type, const unsigned char* payload, uint32_t length);

/// Hands out the messages that have come; 0 at the end of the connection.
static inline int read_control(int control, control_taker* take) {
  static unsigned char input[1 << 20];
  static size_t input_size;
  const ssize_t size = recv(control, input + input_size, sizeof input - input_size, MSG_DONTWAIT);
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return 0;
  if (size > 0) input_size += (size_t)size;
  while (input_size >= kHeader && input_size - kHeader >= get(input)) {
    const uint32_t length = get(input);
    char type[13] = {0};
    memcpy(type, input + 4, 12);
    take(type, input + kHeader, length);
    input_size -= kHeader + length;
    memmove(input, input + kHeader + length, input_size);
  }
  return 1;
}

/// Whoever finds a fault in what the launcher sent ends the job.
__attribute__((noreturn)) static inline void fault_of(int control, uint32_t number, const char* what,
                                                      uint32_t value) {
  char text[300];
  snprintf(text, sizeof text, "FAULT in process %u: %s (%u)", number, what, value);
  send_control(control, "abort", text, strlen(text) + 1);
  _exit(1);
}

/// The payload of `initnode`, which begins as zeros.
static inline void fill_initnode(unsigned char* payload, uint32_t number, uint32_t data_port) {
  put(payload, number);
  put(payload + 4, 2);
  put(payload + 8, 2);
  put(payload + 12, 1);
  put(payload + 28, data_port);
  put(payload + 36, 0xC0000202);  // what a client believes its address to be may be of no use to anybody
}
