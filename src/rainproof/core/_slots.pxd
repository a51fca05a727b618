"""The sums of one slot, and how a row is added to them (see rainproof.core._scan)."""

from libc.stdint cimport uint64_t

from rainproof.core._double_double cimport add_exactly

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define fetch_slot(at) __builtin_prefetch(at, 1)
    #else
    #define fetch_slot(at)
    #endif
    """
    void fetch_slot(const void* at) noexcept nogil  # begin to fetch it from memory, to write to it

# An unweighted slot: the low 40 bits of `head` count rows, the high ones the overflows of `rise`,
# so one table takes up to 2^36 rows.
cdef struct Slot:
    uint64_t head
    uint64_t rise

# A weighted slot; each sum is the unevaluated `sum + low`.
cdef struct WeightedSlot:
    double rows
    double weight
    double weight_low
    double rise
    double rise_low
    double squares


cdef inline void add_sums(Slot* s, uint64_t rows, uint64_t carry, uint64_t rise) noexcept nogil:
    """Add so many rows, whose offsets have the sum carry * 2^64 + rise."""
    s.rise += rise
    s.head += rows + ((carry + <uint64_t>(s.rise < rise)) << 40)


cdef inline void add_row(Slot* s, uint64_t offset) noexcept nogil:
    add_sums(s, 1, 0, offset)


cdef inline void add_weighted_row(WeightedSlot* s, uint64_t offset, double w) noexcept nogil:
    s.rows += w > 0  # a row of weight zero does not count
    s.squares += w * w
    add_exactly(&s.weight, &s.weight_low, w)
    add_exactly(&s.rise, &s.rise_low, w * (<double>offset * 2.0 ** -52))
