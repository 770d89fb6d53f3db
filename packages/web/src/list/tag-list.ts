/** As the gateway takes them. */
const mostOfTag = 100;
const mostTags = 100;

/** A list with one more tag, unless it has it already, however it is written. */
export function withNewTag(tags: readonly string[], text: string): readonly string[] {
  const tag = text.trim().replaceAll(/\s+/g, " ").slice(0, mostOfTag).trimEnd();
  const has = tags.some((other) => other.toLowerCase() === tag.toLowerCase());
  return tag === "" || has || tags.length >= mostTags ? tags : [...tags, tag];
}

/** A list with all tags that were typed, with commas between them. */
export function withTypedTags(tags: readonly string[], typed: string): readonly string[] {
  return typed.split(commas).reduce(withNewTag, tags);
}

/** A list with a suggested tag, which stands for what is typed after the last comma. It may have a comma itself. */
export function withSuggestedTag(
  tags: readonly string[],
  typed: string,
  suggested: string,
): readonly string[] {
  const before = typed.split(commas).slice(0, -1);
  return withNewTag(before.reduce(withNewTag, tags), suggested);
}

/** Those of Chinese, Japanese and Arabic too. */
const commas = /[,，、､،]/;

/** Tags of other chats that this one may get, those first that begin with what is typed after the last comma. */
export function suggestedTags(
  all: readonly string[],
  tags: readonly string[],
  typed: string,
  most = 12,
): string[] {
  const start = (typed.split(commas).at(-1) ?? "").trim().toLowerCase();
  const own = new Set(tags.map((tag) => tag.toLowerCase()));
  const fitting = all.filter(
    (tag) => !own.has(tag.toLowerCase()) && tag.toLowerCase().includes(start),
  );
  const begins = (tag: string) => Number(!tag.toLowerCase().startsWith(start));
  return fitting.toSorted((one, other) => begins(one) - begins(other)).slice(0, most);
}
