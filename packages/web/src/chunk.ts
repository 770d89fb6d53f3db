export interface Chunk<Item> {
  /** Index of the first item. */
  start: number;
  items: readonly Item[];
}

/** Splits a list into chunks of at most `size` items. */
export function chunk<Item>(items: readonly Item[], size: number): Chunk<Item>[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => {
    const start = index * size;
    return { start, items: items.slice(start, start + size) };
  });
}
