import { bareType } from "@deltawire/tasks";

/** What the first bytes of a picture or a sound say that it is; undefined: nothing that we know. */
export function typeOfBytes(bytes: Buffer): string | undefined {
  return signatures.find(({ at = 0, magic, inside }) => {
    if (!bytes.subarray(at, at + magic.length).equals(magic)) return false;
    return inside === undefined || bytes.subarray(8, 8 + inside.length).equals(inside);
  })?.type;
}

/** The ending of a file's name: servers go by it, and not by the type that stands beside it. */
export function extensionOf(mediaType: string): string {
  const [, subtype = ""] = mediaType.split("/");
  return extensions[subtype] ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : "bin");
}

/** The type of a file with this ending. */
export function soundTypeOf(format: string): string {
  return soundTypes[format] ?? `audio/${format}`;
}

/** Bytes know better than the name beside them, which may be a guess. But MP4 and WebM hold sounds and films alike. */
export function surerType(told: string, ofBytes: string | undefined): string {
  const sameContainer = ofBytes?.split("/")[1] === bareType(told).split("/")[1];
  return ofBytes === undefined || sameContainer ? told : ofBytes;
}

interface Signature {
  type: string;
  at?: number;
  magic: Buffer;
  /** At offset 8, of a container whose beginning does not say what is in it. */
  inside?: Buffer;
}

const ascii = (text: string): Buffer => Buffer.from(text, "latin1");

const signatures: readonly Signature[] = [
  { type: "image/png", magic: Buffer.from([0x89, 0x50, 0x4e, 0x47]) },
  { type: "image/jpeg", magic: Buffer.from([0xff, 0xd8, 0xff]) },
  { type: "image/gif", magic: ascii("GIF8") },
  { type: "image/webp", magic: ascii("RIFF"), inside: ascii("WEBP") },
  { type: "audio/wav", magic: ascii("RIFF"), inside: ascii("WAVE") },
  { type: "audio/mpeg", magic: ascii("ID3") },
  { type: "audio/mpeg", magic: Buffer.from([0xff, 0xfb]) },
  { type: "audio/mpeg", magic: Buffer.from([0xff, 0xf3]) },
  { type: "audio/mpeg", magic: Buffer.from([0xff, 0xf2]) },
  { type: "audio/aac", magic: Buffer.from([0xff, 0xf1]) },
  { type: "audio/aac", magic: Buffer.from([0xff, 0xf9]) },
  { type: "audio/ogg", magic: ascii("OggS") },
  { type: "audio/flac", magic: ascii("fLaC") },
  { type: "audio/webm", magic: Buffer.from([0x1a, 0x45, 0xdf, 0xa3]) },
  { type: "audio/mp4", at: 4, magic: ascii("ftyp") },
];

const extensions: Readonly<Record<string, string>> = {
  jpeg: "jpg",
  mpeg: "mp3",
  mp3: "mp3",
  mp4: "m4a",
  "x-m4a": "m4a",
  "x-wav": "wav",
  wave: "wav",
  "vnd.wave": "wav",
  "x-flac": "flac",
  opus: "ogg",
};

const soundTypes: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/ogg",
  m4a: "audio/mp4",
};
