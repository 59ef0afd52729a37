// SPDX-License-Identifier: Apache-2.0
//
// The quickest program that a CCS launcher can have behind it: registers as a stock Charm++ process does, and
// answers every request that comes, as many as there are at a time, by 8 bytes, the size of a `ccs_getinfo`
// reply of a job of one process. Prints, pings and ends never; it goes when its launcher does.
//
//   cc -O2 -I<repository> -o ccs_echo ccs_echo.c
#define _GNU_SOURCE
#include <poll.h>

#include "tests/doubles/charm_wire.h"

enum { kForwarded = 58, kLengthAt = 54, kReply = 8, kAnswer = kHeader + kForwarded + kReply };

static unsigned char answers[1 << 20];
static size_t answers_size;

static void send_answers(int control) {
  for (size_t at = 0; at < answers_size;) {
    const ssize_t sent = send(control, answers + at, answers_size - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) exit(1);
    if (sent > 0) at += (size_t)sent;
  }
  answers_size = 0;
}

/// `header` and `payload` of a `req_fw`.
static void answer(const unsigned char* payload) {
  unsigned char* at = answers + answers_size;
  memset(at, 0, kAnswer);
  put(at, kForwarded + kReply);
  memcpy(at + 4, "reply_fw", 8);
  memcpy(at + kHeader, payload, kForwarded);
  put(at + kHeader + kLengthAt, 1);                // there is a reply
  put(at + kHeader + kForwarded, 1);               // one process
  put(at + kHeader + kForwarded + kReply / 2, 1);  // of one PE
  answers_size += kAnswer;
}

/// Takes whole messages; returns the bytes that are left.
static size_t take(unsigned char* input, size_t size, int control) {
  size_t at = 0;
  while (size - at >= kHeader && size - at - kHeader >= get(input + at)) {
    const uint32_t length = get(input + at);
    if (memcmp(input + at + 4, "req_fw", 7) == 0 && length >= kForwarded) answer(input + at + kHeader);
    if (answers_size + kAnswer > sizeof answers) send_answers(control);
    at += kHeader + length;
  }
  memmove(input, input + at, size - at);
  return size - at;
}

int main(void) {
  static unsigned char input[1 << 20];
  char launcher[1024];
  int number, port, pid, zero;
  uint32_t data_port;
  const char* netstart = getenv("NETSTART");
  if (netstart == NULL || sscanf(netstart, "%d%1023s%d%d%d", &number, launcher, &port, &pid, &zero) != 5)
    return fputs("ccs_echo: no usable NETSTART\n", stderr), 2;
  open_data(&data_port);
  const int control = connect_control(launcher, port);
  unsigned char initnode[kInitnode] = {0};
  fill_initnode(initnode, (uint32_t)number, data_port);
  send_control(control, "initnode", initnode, sizeof initnode);
  for (size_t size = 0;;) {
    const ssize_t got = recv(control, input + size, sizeof input - size, 0);
    if (got == 0 || (got < 0 && errno != EINTR)) return 0;
    if (got > 0) size = take(input, size + (size_t)got, control);
    send_answers(control);
  }
}
