interface Findable {
  readonly title: string;
  readonly group: string;
  readonly words?: string | undefined;
}

const most = 50;

/** Those in which every word of the query is found, the ones whose title begins with it first. */
export function found<Entry extends Findable>(query: string, entries: readonly Entry[]): Entry[] {
  const asked = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (asked.length === 0) return entries.slice(0, most);
  const ranked = entries.flatMap((entry) => {
    const title = entry.title.toLowerCase();
    const all = `${title} ${entry.group} ${entry.words ?? ""}`.toLowerCase();
    if (!asked.every((word) => all.includes(word))) return [];
    const [first = ""] = asked;
    const rank = title.startsWith(first) ? 0 : title.includes(first) ? 1 : 2;
    return [{ entry, rank }];
  });
  return ranked
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, most)
    .map(({ entry }) => entry);
}
