/* Rows in blocks: each is checked, placed on the grid, and added to its slot (see _scan.pyx for slots and offsets).

   This is C instead of Cython because `add_blocks` is compiled several times, for the vector instructions that
   newer processors have. Every copy gives the same bits.
*/
#ifndef RAINPROOF_ROWS_H
#define RAINPROOF_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define FETCH(at) __builtin_prefetch(at, 0, 0)
#else
#define ALWAYS_INLINE static __forceinline
#define FETCH(at) ((void)(at))
#endif

#define BLOCK 32                               /* rows; their slots and offsets stay in the first-level cache */
#define AHEAD 256                              /* memory is fetched so many rows before they are read */
#define LINE 64                                /* bytes that are fetched at once */
#define ONE UINT64_C(0x3FF0000000000000)       /* the bits of 1.0 */
#define UNIT UINT64_C(0x0010000000000000)      /* 1, in units of 2^-52 */
#define LARGEST UINT64_C(0x7FEFFFFFFFFFFFFF)   /* the bits of the largest finite double */

/* Numbers of `size` bytes, `step` bytes apart. Integers are read as unsigned: labels of -1 stay wrong. */
typedef struct {
    const char *at;
    ptrdiff_t step;
    ptrdiff_t size;
    int is_float;
} Column;

/* A slot that rows are added to without a carry from one word to the other: `high` counts the rows from bit
   QUICK_ROWS on, and below it sums the offsets without their lowest QUICK_LOW bits; `low` sums those bits. */
typedef struct {
    uint64_t high;
    uint64_t low;
} QuickSlot;

#define QUICK_LOW 38
#define QUICK_ROWS 39
#define QUICK_FULL (1 << 24)                   /* rows after which a table must be emptied, as one slot may have all */

ALWAYS_INLINE uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

ALWAYS_INLINE double float_at(const char *at, ptrdiff_t size)
{
    return size == 8 ? *(const double *)at : *(const float *)at;
}

ALWAYS_INLINE uint64_t integer_at(const char *at, ptrdiff_t size)
{
    return size == 8   ? *(const uint64_t *)at
           : size == 4 ? *(const uint32_t *)at
           : size == 2 ? *(const uint16_t *)at
                       : *(const uint8_t *)at;
}

/* Compute slot and offset of n predictions; return non-zero if one is outside [0, 1] or NaN. */
ALWAYS_INLINE uint64_t place(const char *p, ptrdiff_t step, ptrdiff_t size, ptrdiff_t n, double m,
                             int32_t *restrict slot, uint64_t *restrict offset)
{
    uint64_t bad = 0;
    for (ptrdiff_t r = 0; r < n; r++) {
        double x = float_at(p + r * step, size) + 0.0; /* turns -0.0 into 0.0 */
        uint64_t u = bits_of(x);
        bad |= u | (ONE - u); /* the top bit is set when x < 0, x > 1 or x is NaN */
        double scaled = (((x >= 0.0) & (x <= 1.0)) ? x : 0.0) * m; /* no double outside can be turned into an integer */
        int32_t k = (int32_t)scaled;
        slot[r] = 2 * k;
        offset[r] = bits_of(1.0 + (scaled - k)) - ONE;
    }
    return bad >> 63;
}

/* Return whether one of n offsets is so close to 0 or 1 that rounding may have chosen the wrong bin.

   The product m p and the cut k/m are each off by at most half a unit in the last place, and the offset by
   another half of 2^-52: a margin of 2 m + 1 units of 2^-52 is twice their sum. */
ALWAYS_INLINE int near_cut(const uint64_t *offset, ptrdiff_t n, double m)
{
    uint64_t margin = 2 * (uint64_t)m + 1, close = 0;
    for (ptrdiff_t r = 0; r < n; r++)
        close |= ((offset[r] + margin) & (UNIT - 1)) - 2 * margin; /* the top bit is set below 2 margin */
    return (int)(close >> 63);
}

/* Correct the bins of n predictions to (cut[k], cut[k + 1]], by one bin at most. */
static inline void settle(const Column *prob, ptrdiff_t row, ptrdiff_t n, const double *cut, int32_t *slot,
                          uint64_t *offset)
{
    for (ptrdiff_t r = 0; r < n; r++) {
        double p = float_at(prob->at + (row + r) * prob->step, prob->size);
        int32_t k = slot[r] >> 1;
        if (p <= cut[k]) {
            slot[r] -= 2;
            offset[r] += UNIT;
        } else if (p > cut[k + 1]) {
            slot[r] += 2;
            offset[r] = 0;
        }
    }
}

/* Add n integer labels to the slots; return non-zero if one is neither 0 nor 1. */
ALWAYS_INLINE uint64_t mark(const char *y, ptrdiff_t step, ptrdiff_t size, ptrdiff_t n, int32_t *restrict slot)
{
    uint64_t seen = 0;
    for (ptrdiff_t r = 0; r < n; r++) {
        uint64_t label = integer_at(y + r * step, size);
        seen |= label;
        slot[r] += (int32_t)(label & 1); /* quicker to vectorise than label == 1, and the same for 0 and 1 */
    }
    return seen >> 1;
}

/* The same for labels that are floats. */
ALWAYS_INLINE uint64_t mark_float(const char *y, ptrdiff_t step, ptrdiff_t size, ptrdiff_t n, int32_t *restrict slot)
{
    uint64_t bad = 0;
    for (ptrdiff_t r = 0; r < n; r++) {
        double label = float_at(y + r * step, size);
        bad |= bits_of(label * label - label); /* y (y - 1) = 0 only for 0 and 1 */
        slot[r] += label == 1.0;
    }
    return bad;
}

/* Read n weights; return non-zero if one is negative, infinite or NaN. */
ALWAYS_INLINE uint64_t weigh(const char *w, ptrdiff_t step, ptrdiff_t size, ptrdiff_t n, double *restrict weight)
{
    uint64_t bad = 0;
    for (ptrdiff_t r = 0; r < n; r++) {
        weight[r] = float_at(w + r * step, size) + 0.0;
        uint64_t u = bits_of(weight[r]);
        bad |= u | (LARGEST - u);
    }
    return bad >> 63;
}

/* A loop is fastest if the compiler knows step and size. So the next three name those of contiguous columns, which
   are nearly all. */
ALWAYS_INLINE uint64_t read_prob(const Column *c, ptrdiff_t row, ptrdiff_t n, double m, const double *cut,
                                 int32_t *restrict slot, uint64_t *restrict offset)
{
    const char *p = c->at + row * c->step;
    uint64_t bad = c->step != c->size ? place(p, c->step, c->size, n, m, slot, offset)
                   : c->size == 8     ? place(p, 8, 8, n, m, slot, offset)
                                      : place(p, 4, 4, n, m, slot, offset);
    if (cut != NULL && near_cut(offset, n, m))
        settle(c, row, n, cut, slot, offset);
    return bad;
}

ALWAYS_INLINE uint64_t read_label(const Column *c, ptrdiff_t row, ptrdiff_t n, int32_t *restrict slot)
{
    const char *y = c->at + row * c->step;
    if (c->is_float)
        return c->step != c->size ? mark_float(y, c->step, c->size, n, slot)
               : c->size == 8     ? mark_float(y, 8, 8, n, slot)
                                  : mark_float(y, 4, 4, n, slot);
    return c->step != c->size ? mark(y, c->step, c->size, n, slot)
           : c->size == 8     ? mark(y, 8, 8, n, slot)
           : c->size == 4     ? mark(y, 4, 4, n, slot)
           : c->size == 2     ? mark(y, 2, 2, n, slot)
                              : mark(y, 1, 1, n, slot);
}

ALWAYS_INLINE uint64_t read_weight(const Column *c, ptrdiff_t row, ptrdiff_t n, double *restrict weight)
{
    const char *w = c->at + row * c->step;
    return c->step != c->size ? weigh(w, c->step, c->size, n, weight)
           : c->size == 8     ? weigh(w, 8, 8, n, weight)
                              : weigh(w, 4, 4, n, weight);
}

/* Read n <= BLOCK rows; return non-zero if one breaks a rule. Without weights `weight->at` is NULL. */
static inline uint64_t read_rows(const Column *prob, const Column *label, const Column *weight, ptrdiff_t row,
                                 ptrdiff_t n, double m, const double *cut, int32_t *slot, uint64_t *offset,
                                 double *weights)
{
    uint64_t bad = read_prob(prob, row, n, m, cut, slot, offset) | read_label(label, row, n, slot);
    return weight->at == NULL ? bad : bad | read_weight(weight, row, n, weights);
}

/* Fetch the block that will be read AHEAD rows later (not if it is read backwards). */
ALWAYS_INLINE void fetch(const Column *c, ptrdiff_t row)
{
    ptrdiff_t apart = c->step > LINE ? c->step : LINE;
    for (ptrdiff_t r = 0; r < BLOCK * c->step; r += apart)
        FETCH(c->at + (row + AHEAD) * c->step + r);
}

ALWAYS_INLINE void add_block(const int32_t *slot, const uint64_t *offset, QuickSlot *table)
{
    _Alignas(LINE) QuickSlot part[BLOCK];
    for (int r = 0; r < BLOCK; r++) {
        part[r].high = (UINT64_C(1) << QUICK_ROWS) + (offset[r] >> QUICK_LOW);
        part[r].low = offset[r] & ((UINT64_C(1) << QUICK_LOW) - 1);
    }
    for (int r = 0; r < BLOCK; r++) {
        table[slot[r]].high += part[r].high;
        table[slot[r]].low += part[r].low;
    }
}

/* Add unweighted rows in whole blocks; return 0 at the first bad block. Each block is added after the next one was
   read: the processor can then do both at once, as neither waits for the other. */
ALWAYS_INLINE int add_columns(Column prob, Column label, ptrdiff_t row, ptrdiff_t blocks, double m, const double *cut,
                              QuickSlot *table)
{
    _Alignas(LINE) int32_t slot[2][BLOCK];
    _Alignas(LINE) uint64_t offset[2][BLOCK];
    for (ptrdiff_t b = 0; b < blocks; b++, row += BLOCK) {
        fetch(&prob, row);
        fetch(&label, row);
        if (read_prob(&prob, row, BLOCK, m, cut, slot[b & 1], offset[b & 1]) | read_label(&label, row, BLOCK, slot[b & 1]))
            return 0;
        if (b > 0)
            add_block(slot[(b - 1) & 1], offset[(b - 1) & 1], table);
    }
    add_block(slot[(blocks - 1) & 1], offset[(blocks - 1) & 1], table);
    return 1;
}

typedef int AddBlocks(const Column *prob, const Column *label, ptrdiff_t row, ptrdiff_t blocks, double m,
                      const double *cut, QuickSlot *table);

/* The most frequent columns are written out, so that the compiler knows them before the first block. */
ALWAYS_INLINE int add_any(const Column *prob, const Column *label, ptrdiff_t row, ptrdiff_t blocks, double m,
                          const double *cut, QuickSlot *table)
{
    int is_double = prob->size == 8 && prob->step == 8, is_integer = !label->is_float && label->step == label->size;
    Column doubles = {prob->at, 8, 8, 1}, longs = {label->at, 8, 8, 0}, bytes = {label->at, 1, 1, 0};
    if (is_double && is_integer && label->size == 8 && cut == NULL)
        return add_columns(doubles, longs, row, blocks, m, NULL, table);
    if (is_double && is_integer && label->size == 1 && cut == NULL)
        return add_columns(doubles, bytes, row, blocks, m, NULL, table);
    return add_columns(*prob, *label, row, blocks, m, cut, table);
}

#define COMPILE(name, instructions)                                                                        \
    instructions static int name(const Column *prob, const Column *label, ptrdiff_t row, ptrdiff_t blocks, \
                                 double m, const double *cut, QuickSlot *table)                            \
    {                                                                                                      \
        return add_any(prob, label, row, blocks, m, cut, table);                                           \
    }

COMPILE(add_by_default, )
#if defined(__GNUC__) && defined(__x86_64__) && !defined(_WIN32) /* GCC on Windows misaligns large vectors */
COMPILE(add_by_avx2, __attribute__((target("avx2"))))
COMPILE(add_by_avx512, __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))))
#define HAS(feature) __builtin_cpu_supports(feature)
#else
#define add_by_avx2 add_by_default
#define add_by_avx512 add_by_default
#define HAS(feature) 0
#endif

/* Return the copy for these instructions: 0 for those that every processor has, 1 for AVX2, 2 for AVX-512; NULL if
   this processor lacks them. */
static inline AddBlocks *add_blocks_by(int level)
{
    if (level == 0)
        return add_by_default;
    if (level == 1 && HAS("avx2"))
        return add_by_avx2;
    if (level == 2 && HAS("avx512vl") && HAS("avx512dq") && HAS("avx512bw"))
        return add_by_avx512;
    return NULL;
}

#endif
