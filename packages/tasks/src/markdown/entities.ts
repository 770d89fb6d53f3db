/** As a piece of a regular expression; its group says which. */
export const entityForm = "&(?<entity>amp|lt|gt|quot|apos|nbsp|#39|#124);";

const texts: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u{A0}",
  "#39": "'",
  "#124": "|",
};

/** What an entity that `entityForm` has found stands for. */
export function textOfEntity(entity: string): string {
  return texts[entity] ?? `&${entity};`;
}
