/** Returns a deterministic hash of letters and digits: two FNV-1a hashes over UTF-16 units. Not cryptographically secure. */
export function shortHash(text: string, length = 10): string {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ (unit + index), 0x01000193);
  }
  // The last characters hardly affect the high bits of FNV, so both halves are mixed.
  low = mixHash(low ^ (high >>> 15));
  high = mixHash(high ^ (low >>> 13));
  let digits = BigInt(low >>> 0) * 0x1_0000_0000n + BigInt(high >>> 0);
  let out = "";
  for (let index = 0; index < length; index++) {
    out += alphabet[Number(digits % 62n)] ?? "0";
    digits /= 62n;
  }
  return out;
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

function mixHash(value: number): number {
  let out = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  out = Math.imul(out ^ (out >>> 13), 0xc2b2ae35);
  return out ^ (out >>> 16);
}
