#ifndef SHIM_SOCKET_H
#define SHIM_SOCKET_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// fcntl is variadic, which Swift does not import.
static inline int shim_fcntl_get(int descriptor, int command) { return fcntl(descriptor, command); }
static inline int shim_fcntl_set(int descriptor, int command, int value) { return fcntl(descriptor, command, value); }

// accept4 and pthread_setname_np are GNU extensions: Swift's own view of the C library may be without them.
static inline int shim_accept(int descriptor, int flags) { return accept4(descriptor, 0, 0, flags); }
static inline int shim_thread_name(pthread_t thread, const char *name) { return pthread_setname_np(thread, name); }

#endif
