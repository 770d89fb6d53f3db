import { crc32, deflateSync } from "node:zlib";

/** A soft tone in a WAV file, longer for a longer text. The words are in it, as a comment, for whoever reads those. */
export function toneFor(text: string): Buffer {
  const rate = 8000;
  const samples = Math.min(Math.round(rate * (0.2 + text.length * 0.01)), rate * 3);
  const sound = Buffer.alloc(samples * 2);
  for (let at = 0; at < samples; at++) {
    const fade = Math.min(1, at / 400, (samples - at) / 400);
    sound.writeInt16LE(Math.round(6000 * fade * Math.sin((at / rate) * 2 * Math.PI * 440)), at * 2);
  }
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0); // PCM
  format.writeUInt16LE(1, 2); // one channel
  format.writeUInt32LE(rate, 4);
  format.writeUInt32LE(rate * 2, 8);
  format.writeUInt16LE(2, 12);
  format.writeUInt16LE(16, 14);
  const comment = riffChunk("ICMT", Buffer.from(`${text}\0`));
  const chunks = [
    riffChunk("fmt ", format),
    // Before the sound, so that it is in the beginning of the file.
    riffChunk("LIST", Buffer.concat([Buffer.from("INFO"), comment])),
    riffChunk("data", sound),
  ];
  return riffChunk("RIFF", Buffer.concat([Buffer.from("WAVE"), ...chunks]));
}

function riffChunk(name: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, "latin1");
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

/** The comment in the beginning of a WAV file; undefined: there is none. */
export function wordsIn(wav: Buffer): string | undefined {
  if (wav.toString("latin1", 0, 4) !== "RIFF" || wav.toString("latin1", 8, 12) !== "WAVE")
    return undefined;
  const info = riffChunks(wav.subarray(12)).find(
    ({ name, data }) => name === "LIST" && data.toString("latin1", 0, 4) === "INFO",
  );
  const comment = riffChunks(info?.data.subarray(4) ?? Buffer.alloc(0)).find(
    ({ name }) => name === "ICMT",
  );
  return comment?.data.toString("utf8").replace(/\0+$/, "");
}

function riffChunks(bytes: Buffer): { name: string; data: Buffer }[] {
  const chunks = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    const size = bytes.readUInt32LE(at + 4);
    const data = bytes.subarray(at + 8, at + 8 + size);
    chunks.push({ name: bytes.toString("latin1", at, at + 4), data });
    at += 8 + size + (size % 2);
  }
  return chunks;
}

/**
 * A small PNG whose colours come from the words that asked for it, and from the picture that it is made of. `share` of it is
 * painted; the rest is grey.
 */
export function pictureFor(prompt: string, { from = 0, share = 1 } = {}): Buffer {
  const side = 64;
  const seed = crc32(prompt) ^ from;
  const rows = Buffer.alloc(side * (1 + side * 3), 128);
  for (let y = 0; y < side; y++) {
    rows[y * (1 + side * 3)] = 0; // no filter
    if (y >= side * share) continue;
    for (let x = 0; x < side; x++) {
      const at = y * (1 + side * 3) + 1 + x * 3;
      rows[at] = ((seed & 255) + x * 2) & 255;
      rows[at + 1] = (((seed >> 8) & 255) + y * 2) & 255;
      rows[at + 2] = (((seed >> 16) & 255) + x + y) & 255;
    }
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
