import { crc32, deflateSync } from "node:zlib";

/** A soft tone in a WAV file, longer for a longer text. */
export function toneFor(text: string): Buffer {
  const rate = 8000;
  const samples = Math.min(Math.round(rate * (0.2 + text.length * 0.01)), rate * 3);
  const sound = Buffer.alloc(samples * 2);
  for (let at = 0; at < samples; at++) {
    const fade = Math.min(1, at / 400, (samples - at) / 400);
    sound.writeInt16LE(Math.round(6000 * fade * Math.sin((at / rate) * 2 * Math.PI * 440)), at * 2);
  }
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + sound.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20); // PCM
  head.writeUInt16LE(1, 22); // one channel
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(sound.length, 40);
  return Buffer.concat([head, sound]);
}

/** A small PNG whose colours come from the words that asked for it. */
export function pictureFor(prompt: string): Buffer {
  const side = 64;
  const seed = crc32(prompt);
  const rows = Buffer.alloc(side * (1 + side * 3));
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) {
      const at = y * (1 + side * 3) + 1 + x * 3;
      rows[at] = ((seed & 255) + x * 2) & 255;
      rows[at + 1] = (((seed >> 8) & 255) + y * 2) & 255;
      rows[at + 2] = (((seed >> 16) & 255) + x + y) & 255;
    }
  const size = Buffer.alloc(13);
  size.writeUInt32BE(side, 0);
  size.writeUInt32BE(side, 4);
  size.set([8, 2, 0, 0, 0], 8); // eight bits a channel, RGB
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk("IHDR", size),
    pngChunk("IDAT", deflateSync(rows)),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** A vector of length 1 in which every word has its place: texts that share words point the same way. */
export function vectorFor(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    const hash = crc32(word);
    const at = hash % dimensions;
    vector[at] = (vector[at] ?? 0) + (hash & 0x1_0000 ? 1 : -1);
    const next = (hash >>> 8) % dimensions;
    vector[next] = (vector[next] ?? 0) + 0.5;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
