/** SHA-256 of the text as UTF-8, in hex. Half a surrogate pair counts as U+FFFD, as it does for a TextEncoder. */
export function sha256(text: string): string {
  hash.set(initial);
  let used = 0;
  let hashed = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) {
      bytes[used++] = unit;
    } else if (unit < 0x800) {
      bytes[used++] = 0xc0 | (unit >> 6);
      bytes[used++] = 0x80 | (unit & 0x3f);
    } else if ((unit & 0xf800) !== 0xd800) {
      used = put3(used, unit);
    } else {
      const low = unit < 0xdc00 ? text.charCodeAt(at + 1) : 0;
      if ((low & 0xfc00) === 0xdc00) {
        at += 1;
        const point = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
        bytes[used++] = 0xf0 | (point >> 18);
        bytes[used++] = 0x80 | ((point >> 12) & 0x3f);
        bytes[used++] = 0x80 | ((point >> 6) & 0x3f);
        bytes[used++] = 0x80 | (point & 0x3f);
      } else {
        used = put3(used, 0xfffd);
      }
    }
    if (used >= room) {
      hashBlocks(room);
      hashed += room;
      bytes.copyWithin(0, room, used);
      used -= room;
    }
  }
  finish(used, hashed + used);
  let hex = "";
  for (const word of hash) hex += (word >>> 0).toString(16).padStart(8, "0");
  return hex;
}

/** A multiple of the block's 64 bytes; behind it a character that began before it has room, and so has the ending. */
const room = 4096;
const bytes = new Uint8Array(room + 128);
const hash = new Int32Array(8);
const words = new Int32Array(64);

const initial = Int32Array.of(
  0x6a09e667,
  0xbb67ae85,
  0x3c6ef372,
  0xa54ff53a,
  0x510e527f,
  0x9b05688c,
  0x1f83d9ab,
  0x5be0cd19,
);

// prettier-ignore
const constants = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);

function put3(used: number, point: number): number {
  bytes[used] = 0xe0 | (point >> 12);
  bytes[used + 1] = 0x80 | ((point >> 6) & 0x3f);
  bytes[used + 2] = 0x80 | (point & 0x3f);
  return used + 3;
}

/** A one bit, zeros, and the length in bits as the last 64 of a block. */
function finish(used: number, length: number): void {
  const end = Math.ceil((used + 9) / 64) * 64;
  bytes.fill(0, used, end);
  bytes[used] = 0x80;
  putWord(end - 8, Math.floor(length / 0x20000000));
  putWord(end - 4, length << 3);
  hashBlocks(end);
}

function putWord(at: number, word: number): void {
  bytes[at] = word >>> 24;
  bytes[at + 1] = word >>> 16;
  bytes[at + 2] = word >>> 8;
  bytes[at + 3] = word;
}

function hashBlocks(end: number): void {
  for (let at = 0; at < end; at += 64) hashBlock(at);
}

function hashBlock(start: number): void {
  for (let i = 0, at = start; i < 16; i += 1, at += 4)
    words[i] =
      (in8(bytes, at) << 24) |
      (in8(bytes, at + 1) << 16) |
      (in8(bytes, at + 2) << 8) |
      in8(bytes, at + 3);
  for (let i = 16; i < 64; i += 1) {
    const near = in32(words, i - 2);
    const far = in32(words, i - 15);
    const s1 = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
    const s0 = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3);
    words[i] = (in32(words, i - 16) + s0 + in32(words, i - 7) + s1) | 0;
  }
  let a = in32(hash, 0);
  let b = in32(hash, 1);
  let c = in32(hash, 2);
  let d = in32(hash, 3);
  let e = in32(hash, 4);
  let f = in32(hash, 5);
  let g = in32(hash, 6);
  let h = in32(hash, 7);
  for (let i = 0; i < 64; i += 1) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const chosen = g ^ (e & (f ^ g));
    const first = (h + s1 + chosen + in32(constants, i) + in32(words, i)) | 0;
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const most = (a & b) ^ (c & (a ^ b));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + s0 + most) | 0;
  }
  hash[0] = in32(hash, 0) + a;
  hash[1] = in32(hash, 1) + b;
  hash[2] = in32(hash, 2) + c;
  hash[3] = in32(hash, 3) + d;
  hash[4] = in32(hash, 4) + e;
  hash[5] = in32(hash, 5) + f;
  hash[6] = in32(hash, 6) + g;
  hash[7] = in32(hash, 7) + h;
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

// Every index is inside its array; `?? 0` is for the compiler, and V8 drops it.
function in8(array: Uint8Array, index: number): number {
  return array[index] ?? 0;
}
function in32(array: Int32Array, index: number): number {
  return array[index] ?? 0;
}
