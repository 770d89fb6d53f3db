const imageSignatures: readonly { mediaType: string; offset: number; bytes: string }[] = [
  { mediaType: "image/png", offset: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { mediaType: "image/jpeg", offset: 0, bytes: "\xff\xd8\xff" },
  { mediaType: "image/gif", offset: 0, bytes: "GIF8" },
  { mediaType: "image/webp", offset: 8, bytes: "WEBP" },
];

/** Detects by its first bytes whether a file is an image that models accept, text, or other binary data. */
export function detectFileKind(
  firstBytes: Uint8Array,
): { type: "image"; mediaType: string } | { type: "text" } | { type: "binary" } {
  const start = Buffer.from(firstBytes.subarray(0, 16)).toString("latin1");
  for (const { mediaType, offset, bytes } of imageSignatures)
    if (start.startsWith(bytes, offset) && (offset === 0 || start.startsWith("RIFF")))
      return { type: "image", mediaType };
  return firstBytes.subarray(0, 8192).includes(0) ? { type: "binary" } : { type: "text" };
}
