#include "values.h"

#include <string.h>

static const char* const names[] = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"};

size_t int_size(int_kind k) { return (size_t)1 << (k / 2); }
int int_width(int_kind k) { return 8 << (k / 2); }
bool int_is_signed(int_kind k) { return k % 2 == 0; }
int_kind int_unsigned(int_kind k) { return (int_kind)(k | 1); }
const char* int_name(int_kind k) { return names[k]; }
wide int_least(int_kind k) { return int_is_signed(k) ? -((wide)1 << (int_width(k) - 1)) : 0; }
wide int_most(int_kind k) { return ((wide)1 << (int_width(k) - int_is_signed(k))) - 1; }

wide int_wrap(int_kind k, wide value)
{
    const uwide mask = ((uwide)1 << int_width(k)) - 1;
    const uwide bits = (uwide)value & mask;
    return int_is_signed(k) && (bits >> (int_width(k) - 1) & 1) ? (wide)bits - ((wide)1 << int_width(k)) : (wide)bits;
}

wide int_clamp(int_kind k, wide value) { return value < int_least(k) ? int_least(k) : value > int_most(k) ? int_most(k) : value; }
uint64_t int_bits(int_kind k, wide value) { return (uint64_t)((uwide)value & (((uwide)1 << int_width(k)) - 1)); }

wide int_get(int_kind k, const void* values, size_t index)
{
    uint64_t bits = 0; /* byte by byte, least significant first */
    const uint8_t* at = (const uint8_t*)values + index * int_size(k);
    for (size_t i = 0; i < int_size(k); i++) bits |= (uint64_t)at[i] << (8 * i);
    return int_wrap(k, (wide)bits);
}

void int_put(int_kind k, void* values, size_t index, wide value)
{
    uint8_t* at = (uint8_t*)values + index * int_size(k);
    for (size_t i = 0; i < int_size(k); i++) at[i] = (uint8_t)((uwide)value >> (8 * i) & 0xff);
}

void int_inputs(cts* t, int_kind k, size_t count, void* out)
{
    const wide specials[] = {0, 1, 2, 3, 5, 7, -1, -2, -3, int_least(k), int_least(k) + 1, int_most(k), int_most(k) - 1,
                             int_most(k) / 2, int_most(k) / 2 + 1, int_least(k) / 2, int_width(k), int_width(k) - 1, int_width(k) + 1, 0x55, 0x5555555555555555};
    for (size_t i = 0; i < count; i++) {
        const uint64_t r = cts_random(t);
        wide value;
        if (i % 2 == 0) value = specials[r % (sizeof specials / sizeof specials[0])];
        else value = (wide)(int64_t)cts_random(t) >> (r % (uint64_t)int_width(k));
        int_put(k, out, i, value);
    }
}

wide_string wide_text(wide value)
{
    wide_string s = {{0}};
    char* at = s.text + sizeof s.text - 1;
    const bool negative = value < 0;
    uwide magnitude = negative ? -(uwide)value : (uwide)value;
    do {
        *--at = (char)('0' + (int)(magnitude % 10));
        magnitude /= 10;
    } while (magnitude != 0);
    if (negative) *--at = '-';
    memmove(s.text, at, (size_t)(s.text + sizeof s.text - at));
    return s;
}
