export interface Part<One> {
  from: number;
  part: readonly One[];
}

/** A list in parts of so many. */
export function partsOf<One>(all: readonly One[], size: number): Part<One>[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, nth) => {
    const from = nth * size;
    return { from, part: all.slice(from, from + size) };
  });
}
