const signatures: readonly { mediaType: string; at: number; bytes: string }[] = [
  { mediaType: "image/png", at: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { mediaType: "image/jpeg", at: 0, bytes: "\xff\xd8\xff" },
  { mediaType: "image/gif", at: 0, bytes: "GIF8" },
  { mediaType: "image/webp", at: 8, bytes: "WEBP" },
];

/** What a file is by its first bytes: a picture that models can see, text, or something else. */
export function fileKind(
  head: Uint8Array,
): { is: "image"; mediaType: string } | { is: "text" } | { is: "binary" } {
  const start = Buffer.from(head.subarray(0, 16)).toString("latin1");
  for (const { mediaType, at, bytes } of signatures)
    if (start.startsWith(bytes, at) && (at === 0 || start.startsWith("RIFF")))
      return { is: "image", mediaType };
  return head.subarray(0, 8192).includes(0) ? { is: "binary" } : { is: "text" };
}
