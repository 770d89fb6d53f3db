import { mediaTypeEssence } from "@deltawire/tasks";

/** Detects the media type of an image or audio file from its first bytes; undefined if it is unknown. */
export function detectMediaType(bytes: Buffer): string | undefined {
  return signatures.find(({ offset = 0, magic, formatMagic }) => {
    if (!bytes.subarray(offset, offset + magic.length).equals(magic)) return false;
    return (
      formatMagic === undefined || bytes.subarray(8, 8 + formatMagic.length).equals(formatMagic)
    );
  })?.type;
}

/** Returns the extension for an uploaded file. Servers detect the format by the extension rather than by the media type. */
export function getFileExtension(mediaType: string): string {
  const [, subtype = ""] = mediaType.split("/");
  return extensionsBySubtype[subtype] ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : "bin");
}

/** Returns the media type of an audio format, such as `mp3`. */
export function toAudioType(format: string): string {
  return audioTypesByFormat[format] ?? `audio/${format}`;
}

/** Prefers the detected type, except for MP4 and WebM: only the declared type shows whether they contain audio or video. */
export function reconcileMediaType(declared: string, detected: string | undefined): string {
  const isSameContainer = detected?.split("/")[1] === mediaTypeEssence(declared).split("/")[1];
  return detected === undefined || isSameContainer ? declared : detected;
}

interface Signature {
  type: string;
  offset?: number;
  magic: Buffer;
  /** At offset 8. For formats whose first bytes only identify the container. */
  formatMagic?: Buffer;
}

const toBytes = (text: string): Buffer => Buffer.from(text, "latin1");

const signatures: readonly Signature[] = [
  { type: "image/png", magic: Buffer.from([0x89, 0x50, 0x4e, 0x47]) },
  { type: "image/jpeg", magic: Buffer.from([0xff, 0xd8, 0xff]) },
  { type: "image/gif", magic: toBytes("GIF8") },
  { type: "image/webp", magic: toBytes("RIFF"), formatMagic: toBytes("WEBP") },
  { type: "audio/wav", magic: toBytes("RIFF"), formatMagic: toBytes("WAVE") },
  { type: "audio/mpeg", magic: toBytes("ID3") },
  { type: "audio/mpeg", magic: Buffer.from([0xff, 0xfb]) },
  { type: "audio/mpeg", magic: Buffer.from([0xff, 0xf3]) },
  { type: "audio/mpeg", magic: Buffer.from([0xff, 0xf2]) },
  { type: "audio/aac", magic: Buffer.from([0xff, 0xf1]) },
  { type: "audio/aac", magic: Buffer.from([0xff, 0xf9]) },
  { type: "audio/ogg", magic: toBytes("OggS") },
  { type: "audio/flac", magic: toBytes("fLaC") },
  { type: "audio/webm", magic: Buffer.from([0x1a, 0x45, 0xdf, 0xa3]) },
  { type: "audio/mp4", offset: 4, magic: toBytes("ftyp") },
];

const extensionsBySubtype: Readonly<Record<string, string>> = {
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

const audioTypesByFormat: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/ogg",
  m4a: "audio/mp4",
};
