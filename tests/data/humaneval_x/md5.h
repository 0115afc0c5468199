// MD5 as openssl/md5.h offers it, for machines without its headers; and nothing to link.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#define MD5_DIGEST_LENGTH 16
inline unsigned char *MD5(const unsigned char *text, size_t length, unsigned char *digest) {
    static const unsigned turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    std::string data((const char *)text, length);
    data.push_back((char)0x80);
    while (data.size() % 64 != 56) data.push_back(0);
    uint64_t bits = (uint64_t)length * 8;
    data.append((const char *)&bits, 8);
    uint32_t state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
    for (size_t block = 0; block < data.size(); block += 64) {
        uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3];
        std::memcpy(words, data.data() + block, 64);
        for (int i = 0; i < 64; i++) {
            uint32_t mix = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
            int at = (i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i) % 16;
            uint32_t key = (uint32_t)(std::fabs(std::sin((double)(i + 1))) * 4294967296.0);
            uint32_t sum = a + mix + key + words[at], turn = turns[i / 16][i % 4];
            a = d, d = c, c = b, b += (sum << turn) | (sum >> (32 - turn));
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    }
    std::memcpy(digest, state, 16);
    return digest;
}
struct MD5_CTX { std::string text; };
inline int MD5_Init(MD5_CTX *c) { c->text.clear(); return 1; }
inline int MD5_Update(MD5_CTX *c, const void *data, size_t length) { c->text.append((const char *)data, length); return 1; }
inline int MD5_Final(unsigned char *digest, MD5_CTX *c) { MD5((const unsigned char *)c->text.data(), c->text.size(), digest); return 1; }
