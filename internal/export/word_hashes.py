"""Hashes of words: an input of sftseq models with n-grams of words."""

import unicodedata

XXH3_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
WHITE_SPACE = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | set(map(chr, range(0x2000, 0x200B)))


def xxh3(data):
    """Returns the XXH3-64 of bytes with seed 0: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md."""
    n, low = len(data), (1 << 64) - 1
    read = lambda b, at, size=8: int.from_bytes(b[at : at + size], "little")
    key = lambda at: read(XXH3_SECRET, at)
    fold = lambda a, b: (a * b >> 64) ^ (a * b & low)
    pair = lambda at, k: fold(read(data, at) ^ key(k), read(data, at + 8) ^ key(k + 8))

    def mix(h, *steps):
        h &= low
        for shift, factor in steps:
            h = (h ^ h >> shift) * factor & low
        return h

    avalanche = lambda h: mix(h, (37, 0x165667919E3779F9), (32, 1))
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    if n == 0:
        return mix(key(56) ^ key(64), (33, p2), (29, p3), (32, 1))
    if n <= 3:
        h = data[0] << 16 | data[n >> 1] << 24 | data[-1] | n << 8
        return mix(h ^ read(XXH3_SECRET, 0, 4) ^ read(XXH3_SECRET, 4, 4), (33, p2), (29, p3), (32, 1))
    if n <= 8:
        h = (read(data, n - 4, 4) + (read(data, 0, 4) << 32)) ^ key(8) ^ key(16)
        h = (h ^ (h << 49 | h >> 15) ^ (h << 24 | h >> 40)) & low
        h = h * 0x9FB21C651E98DF25 & low
        return mix((h ^ (h >> 35) + n) * 0x9FB21C651E98DF25, (28, 1))
    if n <= 16:
        a, b = read(data, 0) ^ key(24) ^ key(32), read(data, n - 8) ^ key(40) ^ key(48)
        return avalanche(n + int.from_bytes(a.to_bytes(8, "little"), "big") + b + fold(a, b))
    if n <= 128:
        return avalanche(n * p1 + sum(pair(16 * i, 32 * i) + pair(n - 16 * (i + 1), 32 * i + 16) for i in range((n + 31) // 32)))
    if n <= 240:
        h = avalanche(n * p1 + sum(pair(16 * i, 16 * i) for i in range(8)))
        return avalanche(h + sum(pair(16 * i, 16 * i - 125) for i in range(8, n // 16)) + pair(n - 16, 119))
    acc = [0xC2B2AE3D, p1, p2, p3, 0x85EBCA77C2B2AE63, 0x85EBCA77, 0x27D4EB2F165667C5, 0x9E3779B1]

    def stripe(at, k):
        for i in range(8):
            v = read(data, at + 8 * i)
            w = v ^ key(k + 8 * i)
            acc[i ^ 1] = acc[i ^ 1] + v & low
            acc[i] = acc[i] + (w & 0xFFFFFFFF) * (w >> 32) & low

    for s in range((n - 1) // 64):
        stripe(64 * s, s % 16 * 8)
        if s % 16 == 15:
            acc = [(a ^ a >> 47 ^ key(128 + 8 * i)) * 0x9E3779B1 & low for i, a in enumerate(acc)]
    stripe(n - 64, 121)
    return avalanche(n * p1 + sum(fold(acc[2 * i] ^ key(11 + 16 * i), acc[2 * i + 1] ^ key(19 + 16 * i)) for i in range(4)))


def word_hashes(ids):
    """Returns a list with an int64 for each id: at the last byte of a word the XXH3-64 of the word in lower case, else 0. A
    word is a run of letters, digits and marks, or any other character except white space. An id is a byte plus 1; the id 0
    (padding) is a word whose hash is that of an empty text."""
    text = bytes((i - 1) & 255 for i in ids)
    out, word, at = [0] * len(text), b"", 0

    def close(unit, end):
        h = xxh3(unit)
        out[end - 1] = h - (h >> 63 << 64)

    for c in text.decode("utf-8", "surrogateescape"):  # a byte that is not UTF-8 is a word
        size = len(c.encode("utf-8", "surrogateescape"))
        category = unicodedata.category(c)
        if category[0] in "LM" or category == "Nd":
            word += c.lower()[0].encode()
        else:
            if word:
                close(word, at)
                word = b""
            if c not in WHITE_SPACE:
                close(text[at : at + size] if ids[at] else b"", at + size)
        at += size
    if word:
        close(word, at)
    return out
