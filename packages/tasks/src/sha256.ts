/** Returns the SHA-256 of the text as UTF-8, in hex. Lone surrogates count as U+FFFD, as in TextEncoder. */
export function sha256(text: string): string {
  hash.set(initialHash);
  let usedLength = 0;
  let hashedLength = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) {
      bytes[usedLength++] = unit;
    } else if (unit < 0x800) {
      bytes[usedLength++] = 0xc0 | (unit >> 6);
      bytes[usedLength++] = 0x80 | (unit & 0x3f);
    } else if ((unit & 0xf800) !== 0xd800) {
      usedLength = writeThreeByteUnit(usedLength, unit);
    } else {
      const low = unit < 0xdc00 ? text.charCodeAt(index + 1) : 0;
      if ((low & 0xfc00) === 0xdc00) {
        index += 1;
        const point = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
        bytes[usedLength++] = 0xf0 | (point >> 18);
        bytes[usedLength++] = 0x80 | ((point >> 12) & 0x3f);
        bytes[usedLength++] = 0x80 | ((point >> 6) & 0x3f);
        bytes[usedLength++] = 0x80 | (point & 0x3f);
      } else {
        usedLength = writeThreeByteUnit(usedLength, 0xfffd);
      }
    }
    if (usedLength >= chunkSize) {
      hashBlocks(chunkSize);
      hashedLength += chunkSize;
      bytes.copyWithin(0, chunkSize, usedLength);
      usedLength -= chunkSize;
    }
  }
  writePadding(usedLength, hashedLength + usedLength);
  let hex = "";
  for (const word of hash) hex += (word >>> 0).toString(16).padStart(8, "0");
  return hex;
}

/** In bytes; a multiple of the block size of 64. The buffer is longer, for a character across the boundary and the padding. */
const chunkSize = 4096;
const bytes = new Uint8Array(chunkSize + 128);
const hash = new Int32Array(8);
const schedule = new Int32Array(64);

const initialHash = Int32Array.of(
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
const roundConstants = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);

function writeThreeByteUnit(usedLength: number, point: number): number {
  bytes[usedLength] = 0xe0 | (point >> 12);
  bytes[usedLength + 1] = 0x80 | ((point >> 6) & 0x3f);
  bytes[usedLength + 2] = 0x80 | (point & 0x3f);
  return usedLength + 3;
}

/** Appends the padding (a one bit, zeros, and the length in bits as the last 64 bits of a block), and hashes the last blocks. */
function writePadding(usedLength: number, length: number): void {
  const end = Math.ceil((usedLength + 9) / 64) * 64;
  bytes.fill(0, usedLength, end);
  bytes[usedLength] = 0x80;
  writeWord(end - 8, Math.floor(length / 0x20000000));
  writeWord(end - 4, length << 3);
  hashBlocks(end);
}

function writeWord(offset: number, word: number): void {
  bytes[offset] = word >>> 24;
  bytes[offset + 1] = word >>> 16;
  bytes[offset + 2] = word >>> 8;
  bytes[offset + 3] = word;
}

function hashBlocks(end: number): void {
  for (let offset = 0; offset < end; offset += 64) hashBlock(offset);
}

function hashBlock(start: number): void {
  for (let i = 0, offset = start; i < 16; i += 1, offset += 4)
    schedule[i] =
      (byteAt(bytes, offset) << 24) |
      (byteAt(bytes, offset + 1) << 16) |
      (byteAt(bytes, offset + 2) << 8) |
      byteAt(bytes, offset + 3);
  for (let i = 16; i < 64; i += 1) {
    const word2 = wordAt(schedule, i - 2);
    const word15 = wordAt(schedule, i - 15);
    const s1 = rotateRight(word2, 17) ^ rotateRight(word2, 19) ^ (word2 >>> 10);
    const s0 = rotateRight(word15, 7) ^ rotateRight(word15, 18) ^ (word15 >>> 3);
    schedule[i] = (wordAt(schedule, i - 16) + s0 + wordAt(schedule, i - 7) + s1) | 0;
  }
  let a = wordAt(hash, 0);
  let b = wordAt(hash, 1);
  let c = wordAt(hash, 2);
  let d = wordAt(hash, 3);
  let e = wordAt(hash, 4);
  let f = wordAt(hash, 5);
  let g = wordAt(hash, 6);
  let h = wordAt(hash, 7);
  for (let i = 0; i < 64; i += 1) {
    const s1 = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25);
    const choice = g ^ (e & (f ^ g));
    const first = (h + s1 + choice + wordAt(roundConstants, i) + wordAt(schedule, i)) | 0;
    const s0 = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22);
    const majority = (a & b) ^ (c & (a ^ b));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + s0 + majority) | 0;
  }
  hash[0] = wordAt(hash, 0) + a;
  hash[1] = wordAt(hash, 1) + b;
  hash[2] = wordAt(hash, 2) + c;
  hash[3] = wordAt(hash, 3) + d;
  hash[4] = wordAt(hash, 4) + e;
  hash[5] = wordAt(hash, 5) + f;
  hash[6] = wordAt(hash, 6) + g;
  hash[7] = wordAt(hash, 7) + h;
}

function rotateRight(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

// Every index is inside its array: `?? 0` only satisfies the compiler, and V8 removes it.
function byteAt(array: Uint8Array, index: number): number {
  return array[index] ?? 0;
}
function wordAt(array: Int32Array, index: number): number {
  return array[index] ?? 0;
}
