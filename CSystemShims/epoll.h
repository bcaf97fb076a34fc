#ifndef SHIM_EPOLL_H
#define SHIM_EPOLL_H
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <stdint.h>

// epoll_data_t is a union, which Swift imports only awkwardly: the token goes in and out through these.
static inline int shim_epoll_ctl(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(epoll, operation, descriptor, &event);
}
static inline uint64_t shim_epoll_token(const struct epoll_event *event) { return event->data.u64; }
static inline uint32_t shim_epoll_events(const struct epoll_event *event) { return event->events; }

#endif
