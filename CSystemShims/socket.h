#ifndef SHIM_SOCKET_H
#define SHIM_SOCKET_H
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// fcntl is variadic, which Swift does not import.
static inline int shim_fcntl_get(int descriptor, int command) { return fcntl(descriptor, command); }
static inline int shim_fcntl_set(int descriptor, int command, int value) { return fcntl(descriptor, command, value); }

#endif
