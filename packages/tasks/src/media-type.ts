/** Without its parameters, in lower case; empty where there is none. */
export function bareType(mediaType = ""): string {
  const [type = ""] = mediaType.split(";", 1);
  return type.trim().toLowerCase();
}
