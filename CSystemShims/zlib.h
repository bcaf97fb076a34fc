#ifndef SHIM_ZLIB_H
#define SHIM_ZLIB_H
// The angle form finds the system's header, not this one.
#include <zlib.h>

// deflateInit2 and inflateInit2 are macros that pass the header's version along.
static inline int shim_deflate_init(z_stream *stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, memory_level, Z_DEFAULT_STRATEGY);
}
static inline int shim_inflate_init(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }

#endif
