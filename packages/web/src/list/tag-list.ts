/** As the gateway takes them. */
export const mostOfTag = 100;
const mostTags = 100;

/** A list with one more tag, unless it has it already, however it is written. */
export function withNewTag(tags: readonly string[], text: string): readonly string[] {
  const tag = text.trim().replaceAll(/\s+/g, " ").slice(0, mostOfTag).trimEnd();
  const has = tags.some((other) => other.toLowerCase() === tag.toLowerCase());
  return tag === "" || has || tags.length >= mostTags ? tags : [...tags, tag];
}

/** Tags of other chats that this one may get, those first that begin with what is typed. */
export function suggestedTags(
  all: readonly string[],
  tags: readonly string[],
  typed: string,
  most = 12,
): string[] {
  const start = typed.trim().toLowerCase();
  const own = new Set(tags.map((tag) => tag.toLowerCase()));
  const fitting = all.filter(
    (tag) => !own.has(tag.toLowerCase()) && tag.toLowerCase().includes(start),
  );
  const begins = (tag: string) => Number(!tag.toLowerCase().startsWith(start));
  return fitting.toSorted((one, other) => begins(one) - begins(other)).slice(0, most);
}
