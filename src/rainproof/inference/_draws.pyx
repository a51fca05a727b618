"""Random numbers for rows, directly from NumPy's bit generators: one generator per thread."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport exp, fabs, floor, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from numpy.random cimport bitgen_t

import numpy as np

cdef enum:
    ROOM = 1024  # repetitions whose outcomes are drawn at a time
    # rows from which on they begin with Poisson variables: their mean is then above 0.9
    MANY = 1024
    LEVELS = 24  # a Poisson variable is larger with a probability below 1e-24

cdef double[10] TAIL = [
    0.08106146679532726,
    0.04134069595540929,
    0.02767792568499834,
    0.02079067210376509,
    0.01664469118982119,
    0.01387612882307075,
    0.01189670994589177,
    0.01041126526197209,
    0.009255462182712733,
    0.008330563433362871,
]

ctypedef fused whole:
    uint8_t
    int64_t


cdef int64_t poissons(bitgen_t* source, uint8_t* out, int64_t n, double mean) noexcept nogil:
    """Write n Poisson variables with a mean of 0.9 to 1; return their sum.

    One random byte each: as many of its 256 values as fit stand for 0, 1, ..., 4. The few that are
    left over take a random number more, with the rest of the probabilities.
    """
    cdef uint64_t[64] words  # 512 bytes are compared at once
    cdef uint64_t[64] found
    cdef uint8_t* byte = <uint8_t*>words
    cdef uint8_t* count = <uint8_t*>found
    cdef uint8_t[64] hit
    cdef uint8_t[5] fit
    cdef double[LEVELS] rest
    cdef double chance = 256 * exp(-mean)
    cdef double held = 0
    cdef double u
    cdef uint64_t marks, each = 0x0101010101010101
    cdef int64_t total = 0, fitted = 0, r, k, w, size, level, seen
    for k in range(LEVELS):
        held += chance
        if k < 5:
            fitted += <int64_t>chance
            held -= <int64_t>chance
            fit[k] = <uint8_t>fitted
        rest[k] = held
        chance *= mean / (k + 1)
    for r in range(0, n, 512):
        size = n - r if n - r < 512 else 512
        for k in range((size + 7) // 8):
            words[k] = source.next_uint64(source.state)
        for k in range(512):  # those left over are marked by 64
            count[k] = (
                (byte[k] >= fit[0])
                + (byte[k] >= fit[1])
                + (byte[k] >= fit[2])
                + (byte[k] >= fit[3])
                + ((byte[k] >= fit[4]) << 6)
            )
        for k in range(size, 512):
            count[k] = 0
        seen = 0
        for w in range(64):  # no branch: which words have marks cannot be guessed
            hit[seen] = <uint8_t>w
            seen += (found[w] & 64 * each) != 0
        for w in range(seen):
            marks = found[hit[w]] & 64 * each
            while marks:
                # bits below the lowest marked byte
                k = 8 * <int64_t>((((marks - 1) & ~marks & each) * each) >> 56) - 8
                marks &= marks - 1
                u = held * source.next_double(source.state)
                level = (
                    (u >= rest[0])
                    + (u >= rest[1])
                    + (u >= rest[2])
                    + (u >= rest[3])
                    + (u >= rest[4])
                )
                while u >= rest[level] and level < LEVELS - 1:
                    level += 1
                found[hit[w]] ^= (<uint64_t>(level ^ 68)) << k  # a marked byte is 64 + 4
        for w in range(64):
            total += (found[w] * each) >> 56  # the sum of its bytes
        memcpy(out + r, count, size)
    return total


def repeats(capsule, int64_t n):
    """Draw n rows of n with replacement (n < 2^32); return the count of each.

    Counts are bytes: 256 draws of one row have a probability below 1/256!. Many rows begin with
    Poisson variables, a little fewer than n in all: given their sum they are that many draws with
    replacement. (If there are more than n, they are drawn anew.) The other draws are made one by
    one, by Lemire's multiplication: the upper half of 32 random bits times n is the row; the lower
    half shows which few draws have to be repeated so that all rows are equally likely.
    """
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    result = np.zeros(n, np.uint8)
    cdef uint8_t[::1] out = result
    cdef int64_t left = n
    cdef uint32_t least = <uint32_t>((<uint64_t>1 << 32) % <uint64_t>n)
    cdef uint64_t bits, scaled
    with nogil:
        if n >= MANY:
            left = -1
            while left < 0:
                left = n - poissons(source, &out[0], n, 1 - 3 / sqrt(<double>n))
        while left > 0:
            bits = source.next_uint64(source.state)
            scaled = <uint64_t>(<uint32_t>bits) * <uint64_t>n
            if <uint32_t>scaled >= least:
                out[scaled >> 32] += 1
                left -= 1
            scaled = (bits >> 32) * <uint64_t>n
            if left > 0 and <uint32_t>scaled >= least:
                out[scaled >> 32] += 1
                left -= 1
    return result


cdef object tosses_of(bitgen_t* source, const whole[::1] repeated, const uint32_t[:, ::1] bar,
                      const uint32_t[:, ::1] ends, const int64_t[::1] cluster,
                      const int64_t[::1] first, const uint32_t[::1] shared, uint64_t alike):
    cdef Py_ssize_t n = repeated.shape[0]
    cdef Py_ssize_t populations = bar.shape[1]
    cdef Py_ssize_t r = 0
    cdef Py_ssize_t k, s, size
    cdef Py_ssize_t hits = 0
    cdef Py_ssize_t seen
    cdef int64_t total = 0, left = 0, j
    for r in range(n):
        total += repeated[r]
    events = np.zeros(n, np.asarray(repeated).dtype)
    rows = np.empty(total, np.int64)
    outcomes = np.empty((total, populations), np.uint8)
    cdef whole[::1] event = events
    cdef int64_t[::1] row = rows
    cdef uint8_t[:, ::1] outcome = outcomes
    cdef int32_t[ROOM + 4] place
    cdef int32_t[ROOM] hit
    cdef uint64_t[512] words  # half of ROOM
    cdef uint32_t* bits = <uint32_t*>words
    cdef uint32_t toss, low
    cdef uint64_t word
    cdef const uint32_t* end = &ends[0, 0] if n else NULL
    cdef const uint32_t* level
    cdef uint8_t* found
    with nogil:
        r = 0
        left = repeated[0] if n else 0
        while r < n:
            # Rows by repetition. Few are repeated more than four times: no loop whose end has to be
            # guessed.
            size = 0
            while r < n and size + left <= ROOM:
                place[size] = place[size + 1] = place[size + 2] = place[size + 3] = r
                for k in range(4, left):
                    place[size + k] = r
                size += left
                r += 1
                left = repeated[r] if r < n else 0
            # one row fills the room and more (at the end rows that are not drawn are left)
            if size == 0 and r < n:
                for k in range(ROOM):
                    place[k] = r
                size = ROOM
                left -= ROOM
            if cluster is None:
                for k in range((size + 1) // 2):
                    words[k] = source.next_uint64(source.state)
            else:
                s = 0
                for k in range(size):
                    word = source.next_uint64(source.state)
                    s = s + 1 if k > 0 and place[k] == place[k - 1] else 0
                    if word >> 32 >= alike:
                        bits[k] = <uint32_t>word
                    else:
                        bits[k] = shared[first[cluster[place[k]]] + s]
            seen = 0
            # no branch: which outcomes depend on the probability cannot be guessed
            for k in range(size):
                j = place[k]
                toss = bits[k] >> 1
                low = end[2 * j]
                event[j] += toss < low
                hit[seen] = k
                # unsigned: a toss below all probabilities is far above
                seen += toss - low < end[2 * j + 1] - low
            for k in range(seen):
                j = place[hit[k]]
                toss = bits[hit[k]] >> 1
                row[hits + k] = j
                level = &bar[j, 0]
                found = &outcome[hits + k, 0]
                for s in range(populations):
                    found[s] = toss < level[s]
            hits += seen
    return events, rows[:hits], outcomes[:hits]


def tosses(capsule, repeated, const uint32_t[:, ::1] bar, const uint32_t[:, ::1] ends,
           const int64_t[::1] cluster=None, const int64_t[::1] first=None,
           const uint32_t[::1] shared=None, uint64_t alike=0):
    """Outcomes of repeated rows under several event probabilities, all from the same random
    numbers.

    Return the number of events of each row under all probabilities, and those repetitions whose
    outcome depends on the probability: rows, and a row of outcomes for each. bar holds the
    probabilities of each row in units of 2^-31, ends the smallest and the largest of them. A
    repetition takes the next 32 random bits and uses 31: close probabilities give close results.
    With clusters, rows of one are repeated equally often, 255 times at most. The k-th repetition of
    each takes the bits shared[first[cluster] + k] in place of its own with the probability
    alike / 2^32.
    """
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    if repeated.dtype.kind == "u":
        return tosses_of[uint8_t](source, repeated, bar, ends, cluster, first, shared, alike)
    return tosses_of[int64_t](source, repeated, bar, ends, cluster, first, shared, alike)


def compared(capsule, const uint16_t[::1] first, const double[::1] rest, Py_ssize_t times):
    """Toss each coin a given number of times, one a row."""
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t n = first.shape[0], i
    result = np.empty((times, n), np.uint8)
    cdef uint8_t[:, ::1] out = result
    with nogil:
        for i in range(times):
            toss(source, &first[0], &rest[0], n, &out[i, 0])
    return result


cdef void toss(bitgen_t* source, const uint16_t* first, const double* rest, Py_ssize_t n,
               uint8_t* out) noexcept nogil:
    """Toss each coin, 1 for heads: 16 random bits are compared with the first bits of its
    probability.

    If they are equal, once in 65,536 times, a random number is compared with the rest of it.
    """
    cdef Py_ssize_t r, k, size
    cdef uint64_t[64] words  # 256 tosses are compared at once
    cdef uint16_t* bits = <uint16_t*>words
    cdef uint16_t equal
    for r in range(0, n, 256):
        size = n - r if n - r < 256 else 256
        for k in range((size + 3) // 4):
            words[k] = source.next_uint64(source.state)
        equal = 0
        for k in range(size):
            out[r + k] = bits[k] < first[r + k]
            equal |= bits[k] == first[r + k]
        if equal:
            for k in range(size):
                if bits[k] == first[r + k]:
                    out[r + k] = source.next_double(source.state) < rest[r + k]


def added_up(const uint8_t[:, ::1] heads, const int32_t[::1] owner, Py_ssize_t size):
    """Sum the heads of each owner, row by row."""
    result = np.zeros((heads.shape[0], size), np.int64)
    cdef int64_t[:, ::1] out = result
    cdef Py_ssize_t i, r
    with nogil:
        for i in range(heads.shape[0]):
            for r in range(heads.shape[1]):
                out[i, owner[r]] += heads[i, r]
    return result


cdef double tail(double k) noexcept nogil:
    """log k! less Stirling's formula for it."""
    if k < 10:
        return TAIL[<int>k]
    cdef double square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


cdef double inverted(bitgen_t* source, double n, double p) noexcept nogil:
    """Binomial variable by inversion from 0 on: for few expected heads."""
    cdef double odds = p / (1 - p), chance, u, k
    while True:
        u = source.next_double(source.state)
        k = 0.0
        if u <= 1 - n * p:  # which is less than the chance of no head, and known sooner
            return k
        chance = exp(n * log1p(-p))
        while u > chance and k < n:
            u -= chance
            k += 1
            chance *= odds * (n - k + 1) / k
            if k > 110:  # reached by rounding only: the probability of so many is below 1e-60
                break
        else:
            return k


# A binomial law of 10 expected heads or more, with p up to 1/2, and the constants of algorithm
# BTRS.
cdef struct Law:
    double n, p, spread, a, b, c, box


cdef Law btrs(double n, double p) noexcept nogil:
    cdef Law law
    law.n = n
    law.p = p
    law.spread = sqrt(n * p * (1 - p))
    law.b = 1.15 + 2.53 * law.spread
    law.a = -0.0873 + 0.0248 * law.b + 0.01 * p
    law.c = n * p + 0.5
    law.box = 0.92 - 4.2 / law.b
    return law


cdef double rejected(bitgen_t* source, const Law* law) noexcept nogil:
    """Binomial variable by transformed rejection (Hormann 1993, algorithm BTRS)."""
    cdef double u, v, us, k, m, odds, bar, n = law.n
    while True:
        u = source.next_double(source.state) - 0.5
        v = source.next_double(source.state)
        us = 0.5 - fabs(u)
        k = floor((2 * law.a / us + law.b) * u + law.c)
        if us >= 0.07 and v <= law.box:
            return k
        if k < 0 or k > n:
            continue
        odds = law.p / (1 - law.p)
        m = floor((n + 1) * law.p)
        bar = (
            (m + 0.5) * log((m + 1) / (odds * (n - m + 1)))
            + (n + 1) * log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * log(odds * (n - k + 1) / (k + 1))
            + tail(m) + tail(n - m) - tail(k) - tail(n - k)
        )
        if log(v * (2.83 + 5.1 / law.b) * law.spread / (law.a / (us * us) + law.b)) <= bar:
            return k


cdef void binomial(bitgen_t* source, int64_t n, double p, int64_t* out, Py_ssize_t times,
                   Py_ssize_t step) noexcept nogil:
    """Write `times` binomial variables, `step` apart."""
    cdef double small = min(p, 1 - p), k
    cdef bint sure = n <= 0 or small <= 0
    cdef bint few = n * small < 10
    cdef Law law
    cdef Py_ssize_t i
    if not (sure or few):
        law = btrs(<double>n, small)
    for i in range(times):
        if sure:
            out[i * step] = n if p >= 1 and n > 0 else 0
            continue
        k = inverted(source, <double>n, small) if few else rejected(source, &law)
        out[i * step] = <int64_t>k if p <= 0.5 else n - <int64_t>k


def binomials(capsule, const int64_t[::1] count, const double[::1] chance, Py_ssize_t times):
    """Number of heads in repeated tosses of each coin; all a given number of times, one a row."""
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t size = count.shape[0], r
    result = np.empty((times, size), np.int64)
    cdef int64_t[:, ::1] out = result
    with nogil:
        for r in range(size):
            binomial(source, count[r], chance[r], &out[0, r], times, size)
    return result


def binomials_along(capsule, const int64_t[::1] count, const double[:, ::1] chance):
    """Number of heads in repeated tosses of each coin, one row for each row of its chances.

    From one row to the next only those tosses change that must: close chances give close numbers.
    """
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    cdef Py_ssize_t rows = chance.shape[0]
    cdef Py_ssize_t size = count.shape[0]
    cdef Py_ssize_t i, r
    cdef int64_t heads, changed
    cdef double before, now
    result = np.empty((rows, size), np.int64)
    cdef int64_t[:, ::1] out = result
    with nogil:
        for r in range(size):
            heads = 0
            before = 0.0
            for i in range(rows):
                now = chance[i, r]
                if now > before:
                    binomial(source, count[r] - heads, (now - before) / (1 - before), &changed, 1,
                             1)
                    heads += changed
                elif now < before:
                    binomial(source, heads, (before - now) / before, &changed, 1, 1)
                    heads -= changed
                before = now
                out[i, r] = heads
    return result


def multinomial(capsule, const int64_t[::1] count):
    """Draw as many rows as there are, with replacement; return the count of each place."""
    cdef bitgen_t* source = <bitgen_t*>PyCapsule_GetPointer(capsule, "BitGenerator")
    result = np.empty(count.shape[0], np.int64)
    cdef int64_t[::1] out = result
    cdef Py_ssize_t r
    cdef int64_t left = 0, places
    with nogil:
        for r in range(count.shape[0]):
            left += count[r]
        places = left
        for r in range(count.shape[0]):
            out[r] = 0
            if count[r]:
                binomial(source, left, <double>count[r] / <double>places, &out[r], 1, 1)
            left -= out[r]
            places -= count[r]
    return result
